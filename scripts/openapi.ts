import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../src/config.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { start } from '../src/start.ts';

/** Writes the API description of a server with both services, as it is served, to `file`. */
export async function writeDescription(file: string): Promise<void> {
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
    const answer = await fetch(`${server.url}/openapi.json`);
    await writeFile(file, JSON.stringify(await answer.json(), null, 2));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
}
