/** Runs the program in the files of its image, as the image's user, and asks for everything: `scripts/container-test`. */

import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { smoke } from '../../test/support/smoke.ts';

const [folder = ''] = process.argv.slice(2);
const PORT = String(30_000 + Math.floor(Math.random() * 20_000));

assert.equal(await exitCode(start('health')), 1);
const server = start('serve');
let output = '';
server.stderr?.setEncoding('utf8').on('data', (text: string) => {
  output += text;
});
while (!/listening/.test(output)) {
  assert.equal(server.exitCode, null, output);
  await Bun.sleep(20);
}
await smoke(`http://127.0.0.1:${PORT}`);
assert.equal(await exitCode(start('health')), 0);
server.kill('SIGTERM');
assert.equal(await exitCode(server), 0);
console.log('The container serves everything, and its health check tells whether it does.');

function start(command: string): ChildProcess {
  return spawn('/usr/sbin/chroot', ['--userspec=65532:65532', folder, '/usr/local/bin/picpool', command], {
    env: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      DATA_DIR: '/data',
      HOST: '127.0.0.1',
      PORT,
      PROXY_JUDGES: 'http://127.0.0.1:9/',
      PROXY_SOURCES: 'http://127.0.0.1:9/',
      PROXY_REFRESH_ON_START: 'false',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}
