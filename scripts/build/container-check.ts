/**
 * Runs the image in a container without capabilities, under the engine's own seccomp profile and then under that of the systemd
 * unit, and asks for everything, the whole sandbox of conversions included: `scripts/container-test`.
 */

import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { smoke } from '../../test/support/servers/smoke.ts';
import { exitCode, SETTINGS } from '../channels/channel.ts';

const [image = '', data = '', unitFilter = ''] = process.argv.slice(2);
const PORT = String(30_000 + Math.floor(Math.random() * 20_000));

for (const profile of ['default', unitFilter]) {
  assert.equal(await exitCode(start('health', profile)), 1);
  const server = start('serve', profile);
  let output = '';
  server.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  while (!/sandbox/.test(output)) {
    assert.equal(server.exitCode, null, output);
    await Bun.sleep(20);
  }
  assert.match(output, /sandbox +full/);
  await smoke(`http://127.0.0.1:${PORT}`);
  assert.equal(await exitCode(start('health', profile)), 0);
  server.kill('SIGTERM');
  assert.equal(await exitCode(server), 0);
}
console.log('The container serves everything in its sandbox, and its health check tells whether it does.');

function start(command: string, profile: string): ChildProcess {
  const settings = { ...SETTINGS, DATA_DIR: '/data', PORT, IMAGE_SANDBOX: 'require' };
  const options = [
    ...['--rm', '--network=host', '--user=65532:65532', `--volume=${data}:/data`],
    // As compose.yaml has it.
    ...['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges'],
    '--memory=1g',
    ...(profile === 'default' ? [] : [`--security-opt=seccomp=${profile}`]),
    // The engine would raise them to numbers that a root without CAP_SYS_RESOURCE may not ask for.
    ...['--ulimit=nofile=1024:2048', '--ulimit=nproc=1024:1024'],
    ...Object.entries(settings).map(([name, value]) => `--env=${name}=${value}`),
  ];
  // runc also runs where control groups are those of version 1.
  const engine = ['--runtime=runc', 'run', ...options, '--rootfs', image, '/usr/local/bin/picpool', command];
  return spawn('podman', engine, { stdio: ['ignore', 'ignore', 'pipe'] });
}
