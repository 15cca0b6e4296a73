import { expect, test } from 'bun:test';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { startSite } from './site.ts';
import { checkLooks } from './visitor.ts';

const server = startSite({ SERVICES: 'image', UPLOAD: 'token' });
const { visit } = server;

/** The lines that a command of a shell prints. */
async function printed(command: string): Promise<string[]> {
  return (await Bun.$`sh -c ${command}`.text()).trim().split('\n');
}

test('the page for other programs has this address and the token of this browser filled in, and its lines work', async () => {
  const made = await cli(['token', 'create', 'laptop'], { env: { DATA_DIR: server.folder } });
  const token = made.stdout.trim().split('\n').at(-1)?.trim() ?? '';
  await visit(
    '/',
    async (page) => {
      // It is kept, also if it was entered before the script of the page had come.
      const { promise: isEntered, resolve: letGo } = Promise.withResolvers<void>();
      await page.route('**/upload.js', (route) => isEntered.then(() => route.continue()));
      await page.reload({ waitUntil: 'commit' });
      await page.getByLabel('Token').fill(token);
      letGo();
      await page.waitForLoadState();
      await page.getByRole('link', { name: 'Other programs' }).click();
      await page.waitForURL('**/integrations');
      await checkLooks(page, { painted: false });
      const textOf = (name: string) => page.getByRole('textbox', { name, exact: true }).last().inputValue();
      const command = await textOf('curl');
      expect(command).toBe(
        `curl -H 'Authorization: Bearer ${token}' -F image=@photo.jpg ${server.url}/api/upload`,
      );
      const file = page.locator('a[data-with-token]');
      await page.route('**/sharex.sxcu', (route) => route.fulfill({ status: 503 }));
      await file.click();
      await file.getByText('The server is busy. Try again in a moment.').waitFor();
      await page.unroute('**/sharex.sxcu');
      await page.getByText('Download the settings').waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download the settings' }).click(),
      ]);
      const settings = JSON.parse(await readFile(await download.path(), 'utf8'));
      expect([download.suggestedFilename(), settings.Headers]).toEqual([
        'picpool.sxcu',
        { Authorization: `Bearer ${token}` },
      ]);
      // Typora appends the files, and takes the last lines that are printed.
      const files = ['one.png', 'two, in winter.png'].map((name) => join(server.folder, name));
      for (const file of files) await writeFile(file, PNG);
      const links = await printed(`${await textOf('Custom command')} "${files.join('" "')}"`);
      expect(links).toHaveLength(2);
      const shot = (await textOf('Linux')).replace('flameshot gui --raw', `cat '${files[0]}'`);
      links.push(...(await printed(shot.replace('xclip -selection clipboard', 'cat'))));
      for (const link of links) expect((await fetch(link)).status).toBe(200);
      for (const [label, field] of [
        ['ImgBB', 'image'],
        ['Chevereto', 'source'],
      ] as const) {
        const body = new FormData();
        body.append('key', await textOf('Token'));
        body.append(field, new File([PNG], 'shot.png'));
        const address = await textOf(label);
        expect((await fetch(address, { method: 'POST', body })).status).toBe(200);
      }
    },
    { expected: /status of 503/ },
  );
}, 120_000);
