import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../support/run.ts';
import { startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

const ROOT = join(import.meta.dir, '../..');

test.each([
  ['bun', 'main.ts', [process.execPath]],
  ['deno', 'main.deno.ts', ['deno', 'run', '-A', '--no-check', `--config=${join(ROOT, 'deno.json')}`]],
])('no library of a server on %s is in its development mode', async (_runtime, main, command) => {
  await withFolder(async (folder) => {
    // When the server ends, it tells how Elysia was loaded at its start.
    const elysia = join(ROOT, 'node_modules/elysia/dist/error.mjs');
    const entry = join(folder, 'entry.ts');
    await writeFile(
      entry,
      `import { createRequire } from 'node:module';
       const require = createRequire(import.meta.url);
       process.on('exit', () => console.error('production:', require(${JSON.stringify(elysia)}).isProduction));
       await import(${JSON.stringify(join(ROOT, 'src', main))});`,
    );
    const server = await startServer([...command, entry], { NODE_ENV: 'development' });
    await server.stop();
    expect(server.stderr()).toContain('production: true');
  });
});

test('what nothing catches shows no visitor the source', async () => {
  const script = `import { bunRuntime } from ${JSON.stringify(join(ROOT, 'src/runtime/bun.ts'))};
    const fail = () => Promise.reject(new Error('unexpected'));
    const server = await bunRuntime.serve(fail, { hostname: '127.0.0.1', port: 0 });
    console.log(await (await fetch('http://127.0.0.1:' + server.port)).text());
    process.exit(0);`;
  expect(await run([process.execPath, '-e', script])).toMatch(/^[\w !]+$/);
});
