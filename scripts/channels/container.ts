import { strict as assert } from 'node:assert';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { run } from '../../test/support/run.ts';
import { type Channel, ready, SETTINGS, type World } from './channel.ts';
import {
  conversionsOn,
  isEmulated,
  PROCESSORS,
  type Processor,
  patienceOn,
  requireEmulation,
} from './emulation.ts';

/** The user of the image. */
const USER = 65_532;

/** The container of the release for one processor; one that is not this machine's is run by qemu. */
export async function containerChannel(
  { release, scratch, version }: World,
  processor: Processor,
): Promise<Channel> {
  const cpu = PROCESSORS[processor].debian;
  const folder = join(scratch, `container-${cpu}`);
  const data = join(folder, 'data');
  const storage = [
    '--storage-driver',
    'vfs',
    '--root',
    join(folder, 'store'),
    '--runroot',
    join(folder, 'run'),
  ];
  const image = (...command: string[]) => run(['buildah', ...storage, ...command]);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const emulated = isEmulated(processor);
  const settings = {
    ...SETTINGS,
    PORT: port,
    DATA_DIR: '/data',
    ...conversionsOn(processor),
  };
  const engine = (name: string, ...options: string[]) => [
    ...[
      'podman',
      '--runtime=runc',
      'run',
      '--rm',
      `--name=${name}`,
      '--network=host',
      `--user=${USER}:${USER}`,
      ...options,
    ],
    // As compose.simple.yaml has it.
    ...[
      '--read-only',
      '--read-only-tmpfs=false',
      '--tmpfs=/tmp',
      '--cap-drop=all',
      '--security-opt=no-new-privileges',
    ],
    ...['--memory=3g', `--volume=${data}:/data`, '--ulimit=nofile=1024:2048', '--ulimit=nproc=1024:1024'],
    ...Object.entries(settings).map(([key, value]) => `--env=${key}=${value}`),
  ];
  let root: string;
  let running = '';
  const start = async () => {
    running = `picpool-${cpu}-${crypto.randomUUID()}`;
    await run([...engine(running, '--detach'), '--rootfs', root, '/usr/local/bin/picpool']);
    await ready(url, patienceOn(processor));
  };
  const stop = async () => {
    await run(['podman', 'stop', '--time', '40', running]);
    running = '';
  };

  return {
    name: `container, ${cpu}${emulated ? ' by qemu' : ''}`,
    needs: ['podman', 'buildah', 'runc'],
    url: () => url,
    steps: {
      async install() {
        await mkdir(data, { recursive: true });
        await chown(data, USER, USER);
        const archive = `oci-archive:${join(release, `picpool-${version}-oci.tar`)}`;
        const container = await image('from', '--arch', cpu, archive);
        const config = JSON.parse(await image('inspect', '--type', 'container', container)).OCIv1;
        assert.deepEqual(
          [config.architecture, config.config.User, config.config.Entrypoint],
          [cpu, `${USER}:${USER}`, ['/usr/local/bin/picpool']],
        );
        assert.equal(config.config.Labels['org.opencontainers.image.version'], version);
        root = await image('mount', container);
        if (emulated) await requireEmulation(root);
        return 'taken from the OCI archive';
      },
      async start() {
        await start();
        assert.equal(
          await run([...engine(`${running}-health`), '--rootfs', root, '/usr/local/bin/picpool', 'health']),
          '',
        );
        return 'no root, no capabilities, nothing to write but the volume';
      },
      async upgrade() {
        await stop();
        await start();
        return 'a new container on the same volume';
      },
      async remove() {
        await stop();
        await assert.rejects(fetch(url));
        return 'ends cleanly, the volume stays';
      },
    },
    async close() {
      if (running !== '') await run(['podman', 'rm', '--force', '--time', '0', running]).catch(() => {});
      await image('umount', '--all').catch(() => {});
      await image('rm', '--all').catch(() => {});
    },
  };
}
