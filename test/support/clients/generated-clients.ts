import { copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { seedPool } from '../pool/seeded.ts';
import { run } from '../run.ts';
import { PNG } from '../servers/running-server.ts';
import { type ServerProcess, startServer } from '../servers/server-process.ts';

const SOURCES = resolve('test/generated-clients');

/** Under which paths a server describes its API. */
export const DESCRIPTIONS = ['/openapi.json', '/openapi-3.0.json'] as const;

/** What every generated client finds out by its calls. */
export const FOUND_OUT = {
  filters: [true, true, true],
  text: 5,
  report: true,
  form: ['form é.png', 'png'],
  bytes: ['bytes.png', 'jpeg', 1],
  info: [true, null, 'public'],
  pages: [1, 1, true],
  change: ['unlisted', true],
  password: [401, 'password_required', true, true],
  error: [400, 'invalid_parameter', 'limit'],
  deletion: [404, 'not_found'],
};

/** Makes a client of the description in `file` inside `folder`, compiles it, and answers the command that makes the calls. */
export type Generator = (file: string, folder: string) => Promise<string[]>;

export const generators: Record<'TypeScript' | 'Eden' | 'Python' | 'Go', Generator> = {
  TypeScript: typescript('calls.ts'),
  Eden: typescript('eden.ts'),

  async Python(file, folder) {
    const source = join(SOURCES, 'python');
    const bin = join(folder, 'venv/bin');
    await run(['python3', '-m', 'venv', 'venv'], { cwd: folder });
    const requirements = join(source, 'requirements.txt');
    await run([join(bin, 'pip'), 'install', '--quiet', '--disable-pip-version-check', '-r', requirements], {
      cwd: folder,
    });
    const config = join(source, 'config.yaml');
    const generate = [join(bin, 'openapi-python-client'), 'generate', '--fail-on-warning', '--meta', 'none'];
    await run([...generate, '--config', config, '--path', file, '--output-path', 'generated'], {
      cwd: folder,
    });
    await run([join(bin, 'python'), '-m', 'compileall', '-q', 'generated'], { cwd: folder });
    await copyFile(join(source, 'calls.py'), join(folder, 'calls.py'));
    return [join(bin, 'python'), join(folder, 'calls.py')];
  },

  async Go(file, folder) {
    await cp(join(SOURCES, 'go'), folder, { recursive: true });
    await mkdir(join(folder, 'api'));
    const generate = ['go', 'tool', 'oapi-codegen', '-generate', 'types,client', '-package', 'api'];
    await run([...generate, '-o', 'api/api.go', file], { cwd: folder });
    await run(['go', 'vet', './...'], { cwd: folder });
    await run(['go', 'build', '-o', 'calls', '.'], { cwd: folder });
    return [join(folder, 'calls')];
  },
};

/** The types of openapi-typescript, under openapi-fetch in `calls.ts` and under Eden's treaty in `eden.ts`. */
function typescript(calls: string): Generator {
  return async (file, folder) => {
    const source = join(SOURCES, 'typescript');
    await run([process.execPath, 'install', '--frozen-lockfile', '--ignore-scripts', '--silent'], {
      cwd: source,
    });
    const packages = join(source, 'node_modules');
    await symlink(packages, join(folder, 'node_modules'));
    await copyFile(join(source, 'tsconfig.json'), join(folder, 'tsconfig.json'));
    await copyFile(join(source, calls), join(folder, calls));
    await copyFile('clients/js/src/eden.ts', join(folder, 'app.ts'));
    const generator = join(packages, 'openapi-typescript/bin/cli.js');
    await run([process.execPath, generator, file, '-o', 'api.d.ts'], { cwd: folder });
    await run([process.execPath, resolve('node_modules/typescript/bin/tsc'), '-p', '.'], { cwd: folder });
    return [process.execPath, join(folder, calls)];
  };
}

/** A server with a pool, and what generators make of its descriptions. */
export async function startGeneratedClients() {
  const scratch = await mkdtemp(join(tmpdir(), 'picpool-generated-'));
  const data = join(scratch, 'data');
  await mkdir(data);
  await seedPool(data, Date.now());
  const settings = {
    PROXY_JUDGES: 'http://127.0.0.1:9/',
    PROXY_SOURCES: 'file:/dev/null',
    RATE_LIMITS: 'off',
  };
  const server: ServerProcess = await startServer('bun', settings, data);
  return {
    /** Makes a client of one of the descriptions and answers what it has found out. */
    async try(generator: Generator, description: (typeof DESCRIPTIONS)[number]) {
      const folder = await mkdtemp(join(scratch, 'client-'));
      const file = join(folder, 'description.json');
      await writeFile(file, await (await fetch(`${server.url}${description}`)).bytes());
      const command = await generator(file, folder);
      return JSON.parse(await run([...command, server.url, PNG.toBase64()], { cwd: folder }));
    },
    async stop() {
      await server.stop();
      await rm(scratch, { recursive: true, force: true });
    },
  };
}
