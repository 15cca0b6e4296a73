import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import type { ProxyDraft } from '../../src/proxy/store.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { run } from '../../test/support/run.ts';
import { draft } from '../../test/support/stores/records.ts';
import type { Row } from './row.ts';

/** What the helpers for other libraries are tried with, once: they are large. */
const LIBRARIES = ['requests', 'scrapy', 'playwright'];
const PACKAGES = ['httpx', 'requests', 'PySocks'];

type Place = { ip: string; port: number };

/**
 * Of the country AQ: one whose port is closed, which looks the better one, and one that works. Of BV: `picky`, in this order.
 */
export async function seedHelpers(folder: string, working: Place, picky: readonly Place[]): Promise<void> {
  const database = await openDatabase(bunRuntime.openSqlite, join(folder, 'picpool.db'));
  const fields = (more: Partial<ProxyDraft>) => draft({ protocol: 'http', country: 'AQ', ...more });
  await createSqliteProxies(database).save([
    fields({ ip: '127.0.0.1', port: 9, responseMs: 1 }),
    fields({ ...working, responseMs: 2 }),
    ...picky.map((place, index) => fields({ ...place, country: 'BV', responseMs: index + 1 })),
  ]);
  database.close();
}

/** The scenario of the Python client on every Python from 3.10 on that is here, each with packages of its own. */
export function pythonRows(server: { url: string; token: string }, page: string, scratch: string): Row[] {
  const [newest, ...others] = pythons();
  if (newest === undefined)
    return [
      {
        name: 'Python 3.10 or later',
        needs: 'python3',
        run: () => Promise.reject(new Error('none is here')),
      },
    ];
  const row = (python: string, libraries: readonly string[]): Row => ({
    name: `Python ${/(\d+\.\d+\.\d+)/.exec(python)?.[1] ?? python}${libraries.length > 1 ? ` with ${libraries.join(', ')}` : ''}`,
    async run() {
      const folder = join(scratch, `venv-${crypto.randomUUID()}`);
      await run([python, '-m', 'venv', folder]);
      const pip = [join(folder, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check'];
      await run([...pip, ...PACKAGES, ...libraries.filter((name) => name !== 'requests')]);
      const scenario = ['clients/python/tests/scenario.py', server.url, server.token, page, ...libraries];
      const said = await run([join(folder, 'bin/python'), ...scenario], {
        env: { ...process.env, PYTHONPATH: 'clients/python/src' },
      });
      return JSON.parse(said);
    },
  });
  return [row(newest, LIBRARIES), ...others.map((python) => row(python, ['requests']))];
}

/** Those of pyenv, the newest first, or else the system's own. */
function pythons(): string[] {
  const folder = join(homedir(), '.pyenv/versions');
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {}
  const found = names
    .filter((name) => /^3\.(1[0-9])\./.test(name))
    .sort((a, b) => Bun.semver.order(b, a))
    .map((name) => join(folder, name, 'bin/python'));
  const own = Bun.which('python3');
  return found.length > 0 || own === null ? found : [own];
}
