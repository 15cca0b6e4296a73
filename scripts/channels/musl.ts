import { strict as assert } from 'node:assert';
import { chmod, copyFile, cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { releaseName } from '../build/archive.ts';
import {
  assertKept,
  type Channel,
  freePort,
  keepPicture,
  mainJob,
  ready,
  run,
  SETTINGS,
  type World,
} from './channel.ts';
import { debianMirror } from './debian.ts';

/** musl of Debian, in the version that the binary needs or a later one. */
const MUSL = 'pool/main/m/musl/musl_1.2.5-3_amd64.deb';
/** A wheel for Alpine, which brings Alpine's libstdc++ and libgcc with it. */
const WHEEL = 'pyzmq==27.1.0';

/** The archive for musl, in a root that has musl, libstdc++ and nothing else: no glibc, no shell. */
export function muslChannel({ release, scratch }: World): Channel {
  const root = join(scratch, 'musl-root');
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = { ...SETTINGS, PORT: String(port), DATA_DIR: '/data', IMAGE_SANDBOX: 'require' };
  const engine = (container: string, ...command: string[]) => [
    ...['podman', '--runtime=runc', 'run', '--rm', `--name=${container}`, '--network=host'],
    ...['--ulimit=nofile=1024:2048', '--ulimit=nproc=1024:1024'],
    ...Object.entries(settings).map(([key, value]) => `--env=${key}=${value}`),
    ...['--rootfs', root, '/usr/local/bin/picpool', ...command],
  ];
  let name = '';
  const start = async () => {
    name = `picpool-musl-${crypto.randomUUID()}`;
    const [podman = '', ...rest] = engine(name);
    await run([podman, ...rest.slice(0, 2), '--detach', ...rest.slice(2)]);
    await ready(url);
  };
  let kept: string;
  return {
    name: 'archive, musl',
    needs: ['podman', 'runc', 'dpkg-deb', 'curl', 'pip', 'unzip'],
    steps: {
      async install() {
        for (const folder of ['lib', 'tmp', 'data', 'etc', 'usr/local'])
          await mkdir(join(root, folder), { recursive: true });
        await libraries(join(scratch, 'musl-parts'), root);
        const archive = join(release, `${releaseName('linuxmusl-x64')}.tar.gz`);
        await run(['tar', '-xzf', archive, '-C', join(root, 'usr/local'), '--strip-components=1']);
        return `unpacked; ${await run(engine(`picpool-musl-${crypto.randomUUID()}`, '--version'))} runs`;
      },
      async start() {
        await start();
        return 'with musl 1.2.5, conversions in the full jail';
      },
      'main job': async () => {
        kept = await keepPicture(url);
        return mainJob(url);
      },
      async upgrade() {
        await run(['podman', 'stop', '--time', '40', name]);
        await start();
        await assertKept(url, kept);
        return 'the same again, the picture is there';
      },
      async remove() {
        await run(['podman', 'stop', '--time', '40', name]);
        await assert.rejects(fetch(url));
        return 'ends cleanly';
      },
    },
    async close() {
      await run(['podman', 'rm', '--force', '--time', '0', name]).catch(() => {});
    },
  };
}

async function libraries(parts: string, root: string): Promise<void> {
  await mkdir(parts, { recursive: true });
  await run(['curl', '-fsSL', '-o', join(parts, 'musl.deb'), `${await debianMirror()}/${MUSL}`]);
  await run(['dpkg-deb', '--extract', join(parts, 'musl.deb'), join(parts, 'musl')]);
  const from = join(parts, 'musl/usr/lib/x86_64-linux-musl/libc.so');
  const loader = join(root, 'lib/ld-musl-x86_64.so.1');
  await copyFile(from, loader).catch(() => copyFile(join(parts, 'musl/lib/ld-musl-x86_64.so.1'), loader));
  await chmod(loader, 0o755);
  await symlink('ld-musl-x86_64.so.1', join(root, 'lib/libc.musl-x86_64.so.1'));
  const wheel = [
    '--no-deps',
    '--only-binary=:all:',
    '--platform=musllinux_1_2_x86_64',
    '--python-version=311',
  ];
  await run(['pip', 'download', '--quiet', '--disable-pip-version-check', ...wheel, '--dest', parts, WHEEL]);
  await run(['sh', '-c', `unzip -q -o '${parts}'/*.whl -d '${parts}/wheel'`]);
  const found = join(parts, 'wheel/pyzmq.libs');
  for (const file of await readdir(found)) {
    const known = /^(libstdc\+\+|libgcc_s).*?(\.so\.\d)/.exec(file);
    if (known === null) continue;
    await cp(join(found, file), join(root, 'lib', file));
    await symlink(file, join(root, 'lib', `${known[1]}${known[2]}`));
  }
}
