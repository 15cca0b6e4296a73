import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startBrowser } from '../../test/support/browser/browser.ts';
import { run } from '../../test/support/run.ts';
import { buildJsClient } from '../build/js-client.ts';
import type { Row } from './row.ts';

/** The versions of Node that it is tried on; that of this machine is not fetched again. */
const NODES = ['20', '22', '24'];

/** The scenario of the JavaScript client against a server, as it is published, on every runtime that is here. */
export async function jsRows(
  server: { url: string; token: string },
  pages: { url: string; folder: string },
): Promise<Row[]> {
  await buildJsClient('.', join(pages.folder, 'client'));
  await Bun.write(join(pages.folder, 'scenario.js'), Bun.file('clients/js/test/scenario.js'));
  const call = `scenario(client, ${JSON.stringify(server.url)}, ${JSON.stringify(server.token)})`;
  const imports = `import * as client from './client/index.js';\nimport { scenario } from './scenario.js';\n`;
  await writeFile(join(pages.folder, 'main.mjs'), `${imports}console.log(JSON.stringify(await ${call}));\n`);
  const main = join(pages.folder, 'main.mjs');
  const own = Bun.which('node') === null ? '' : /\d+/.exec(await run(['node', '--version']))?.[0];
  return [
    { name: `Bun ${Bun.version}`, run: () => output(['bun', main]) },
    { name: 'Deno', needs: 'deno', run: () => output(['deno', 'run', '--allow-net=127.0.0.1', main]) },
    ...NODES.map((version) => ({
      name: `Node ${version}${version === own ? '' : ', of npm'}`,
      needs: 'npx',
      run: () =>
        output(
          version === own
            ? ['node', main]
            : ['npx', '--yes', `--package=node@${version}`, '--', 'node', main],
        ),
    })),
    {
      name: 'Chromium, from another origin',
      needs: 'chromium-headless-shell',
      run: () => inChromium(`${pages.url}/blank.html`, call),
    },
  ];
}

async function output(command: string[]): Promise<string[]> {
  return JSON.parse(await run(command));
}

async function inChromium(page: string, call: string): Promise<string[]> {
  const { browser, close } = await startBrowser();
  try {
    const tab = await browser.newPage();
    await tab.goto(page);
    const modules = `Promise.all([import('/client/index.js'), import('/scenario.js')])`;
    return await tab.evaluate(`${modules}.then(([client, { scenario }]) => ${call})`);
  } finally {
    await close();
  }
}
