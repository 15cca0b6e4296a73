import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../test/support/run.ts';
import { pack } from '../build/archive.ts';
import { type Channel, SETTINGS, type Server, serve, type World } from './channel.ts';
import { startRegistry } from './npm-registry.ts';

/** The npm package, from a registry that has the older version, too: installed with npm, then run by npx and by bunx. */
export async function npmChannels(world: World): Promise<Channel[]> {
  const { release, scratch, version, older } = world;
  const packages = join(scratch, 'npm-packages');
  await mkdir(packages, { recursive: true });
  const names = (await readdir(release)).filter((name) => /^npm-.*\.tgz$/.test(name));
  for (const name of names) {
    await run(['cp', join(release, name), packages]);
    await repack(join(release, name), packages, older);
  }
  const registry = await startRegistry(packages);
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: join(scratch, 'npm-home'),
    NPM_CONFIG_REGISTRY: registry.url,
    NPM_CONFIG_UPDATE_NOTIFIER: 'false',
    NPM_CONFIG_AUDIT: 'false',
    ...SETTINGS,
    PORT: '0',
  };
  await mkdir(env.HOME, { recursive: true });
  let users = 3;
  const close = async () => {
    if (--users === 0) registry.stop();
  };
  return [
    installed(join(scratch, 'npm-project'), env, [older, version], close),
    once('npx picpool', ['npx', '--yes', `picpool@${version}`], join(scratch, 'npx'), env, close),
    once('bunx picpool', ['bunx', `picpool@${version}`], join(scratch, 'bunx'), env, close),
  ];
}

function installed(
  folder: string,
  env: Record<string, string>,
  [older = '', version = '']: string[],
  close: () => Promise<void>,
): Channel {
  const options = { env, cwd: folder };
  const start = () => serve([join(folder, 'node_modules/.bin/picpool')], options);
  let server: Server;
  return {
    name: 'npm install picpool',
    needs: ['npm', 'node'],
    url: () => server.url,
    steps: {
      async install() {
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, 'package.json'), '{"private":true}');
        await run(['npm', 'install', `picpool@${older}`], options);
        const binaries = (await readdir(join(folder, 'node_modules/@picpool'))).join(', ');
        assert.equal(
          (await run(['npx', '--no', 'picpool', '--', '--version'], options)).split('\n').at(-1),
          version,
        );
        return `${older}, of the binaries only ${binaries}`;
      },
      async start() {
        server = await start();
        return 'the launcher runs the binary';
      },
      async upgrade() {
        await server.stop();
        await run(['npm', 'install', 'picpool@latest'], options);
        const manifest = await readFile(join(folder, 'node_modules/picpool/package.json'), 'utf8');
        assert.equal(JSON.parse(manifest).version, version);
        server = await start();
        return `${older} to ${version}, the picture is there`;
      },
      async remove() {
        await server.stop();
        await run(['npm', 'uninstall', 'picpool'], options);
        assert.ok(
          !existsSync(join(folder, 'node_modules/picpool')) &&
            !existsSync(join(folder, 'node_modules/.bin/picpool')),
        );
        assert.ok(existsSync(join(folder, 'data/picpool.db')));
        return 'data are kept';
      },
    },
    async close() {
      await server?.stop().catch(() => {});
      await close();
    },
  };
}

/** A run without an installation. */
function once(
  name: string,
  command: string[],
  folder: string,
  env: Record<string, string>,
  close: () => Promise<void>,
): Channel {
  let server: Server;
  return {
    name,
    needs: [command[0] ?? ''],
    url: () => server.url,
    steps: {
      async start() {
        await mkdir(folder, { recursive: true });
        server = await serve(command, { env, cwd: folder });
        return 'fetched and started';
      },
      async remove() {
        await server.interrupt();
        return 'gone after Ctrl-C';
      },
    },
    async close() {
      await server?.stop().catch(() => {});
      await close();
    },
  };
}

/** Writes the same package with another version, which its dependencies of the release also have. */
async function repack(path: string, folder: string, version: string): Promise<void> {
  const work = join(folder, `.${crypto.randomUUID()}`);
  await mkdir(work);
  await run(['tar', '-xzf', path, '-C', work]);
  const file = join(work, 'package/package.json');
  const manifest = JSON.parse(await readFile(file, 'utf8'));
  manifest.version = version;
  for (const name of Object.keys(manifest.optionalDependencies ?? {}))
    manifest.optionalDependencies[name] = version;
  await writeFile(file, JSON.stringify(manifest));
  await pack(join(work, 'package'), join(folder, `older-${path.split('/').at(-1)}`));
  await run(['rm', '-r', work]);
}
