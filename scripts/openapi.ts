import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../src/config.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { start } from '../src/start.ts';

/** Under which names a server describes its API. */
const DESCRIPTIONS = ['openapi.json', 'openapi-3.0.json'];

/** Writes the API descriptions of a server with both services, as served, to `into`. Returns the files. */
export async function writeDescriptions(into: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-openapi-'));
  const config = parseConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: folder,
    METADATA_URL: 'sqlite::memory:',
    PROXY_REFRESH_ON_START: 'false',
  });
  const server = await start(bunRuntime, config, () => {});
  try {
    return await Promise.all(
      DESCRIPTIONS.map(async (name) => {
        const answer = await fetch(`${server.url}/${name}`);
        await writeFile(join(into, name), JSON.stringify(await answer.json(), null, 2));
        return join(into, name);
      }),
    );
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
}
