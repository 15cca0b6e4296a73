import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { listen } from '../../src/start/listen.ts';
import { withFolder } from '../support/temporary.ts';

test('an answer over a socket may take as long as one over an address', async () => {
  await withFolder(async (folder) => {
    const unix = join(folder, 'http.sock');
    const handler = async () => {
      await Bun.sleep(15_000);
      return new Response('a picture');
    };
    const { server } = await listen(bunRuntime, handler, { HOST: `unix:${unix}`, PORT: 0 });
    expect(await (await fetch('http://localhost/', { unix })).text()).toBe('a picture');
    await server.close();
  });
}, 30_000);
