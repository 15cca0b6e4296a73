import { strict as assert } from 'node:assert';
import { chmod, copyFile, cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { run } from '../../test/support/run.ts';
import { releaseName } from '../build/archive.ts';
import { type Channel, ready, SETTINGS, type World } from './channel.ts';
import { debianPackage } from './debian.ts';
import {
  conversionsOn,
  isEmulated,
  PROCESSORS,
  type Processor,
  patienceOn,
  requireEmulation,
  sandboxOn,
} from './emulation.ts';

/** A suite of Debian whose musl is as new as the binary needs it. */
const SUITE = 'trixie';
/** A wheel for Alpine, which brings Alpine's libstdc++ and libgcc with it. */
const WHEEL = 'pyzmq==27.1.0';

/** The archive for musl, in a root that has musl, libstdc++ and nothing else: no glibc, no shell. */
export async function muslChannel({ release, scratch }: World, cpu: Processor): Promise<Channel> {
  const root = join(scratch, `musl-root-${cpu}`);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = { ...SETTINGS, PORT: String(port), DATA_DIR: '/data', ...conversionsOn(cpu) };
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
    await ready(url, patienceOn(cpu));
  };
  return {
    name: `archive, musl, ${cpu}${isEmulated(cpu) ? ' by qemu' : ''}`,
    needs: ['podman', 'runc', 'apt-get', 'dpkg-deb', 'pip', 'unzip'],
    url: () => url,
    steps: {
      async install() {
        for (const folder of ['lib', 'tmp', 'data', 'etc', 'usr/local'])
          await mkdir(join(root, folder), { recursive: true });
        await libraries(join(scratch, `musl-parts-${cpu}`), root, cpu);
        const archive = join(release, `${releaseName(`linuxmusl-${cpu}`)}.tar.gz`);
        await run(['tar', '-xzf', archive, '-C', join(root, 'usr/local'), '--strip-components=1']);
        if (isEmulated(cpu)) await requireEmulation(root);
        return `unpacked; ${await run(engine(`picpool-musl-${crypto.randomUUID()}`, '--version'))} runs`;
      },
      async start() {
        await start();
        return `with musl of Debian ${SUITE}, ${sandboxOn(cpu)}`;
      },
      async upgrade() {
        await run(['podman', 'stop', '--time', '40', name]);
        await start();
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

async function libraries(parts: string, root: string, cpu: Processor): Promise<void> {
  const { debian, linux } = PROCESSORS[cpu];
  const musl = await debianPackage('musl', SUITE, debian, join(parts, 'apt'));
  await run(['dpkg-deb', '--extract', musl, join(parts, 'musl')]);
  const loader = join(root, `lib/ld-musl-${linux}.so.1`);
  await copyFile(join(parts, `musl/usr/lib/${linux}-linux-musl/libc.so`), loader);
  await chmod(loader, 0o755);
  await symlink(basename(loader), join(root, `lib/libc.musl-${linux}.so.1`));
  const wheel = [
    '--no-deps',
    '--only-binary=:all:',
    `--platform=musllinux_1_2_${linux}`,
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
