import type { Page } from 'playwright-core';

/** What a page keeps about one of its browser's pictures. */
export interface Kept {
  id: string;
  filename: string;
  delete_token: string;
  protected: boolean;
  expires_at?: string | null;
  missing?: boolean;
  deleting?: number;
}

const PREFIX = 'picpool:mine:';

/** Returns what the browser keeps about its pictures, newest first. */
export const mineOf = (page: Page) =>
  page.evaluate(
    (prefix) =>
      Object.entries<string>(localStorage)
        .flatMap(([key, text]) => (key.startsWith(prefix) ? [JSON.parse(text)] : []))
        .sort((one, other) => other.made - one.made) as Kept[],
    PREFIX,
  );

/** Resolves when the browser keeps so many pictures. */
export const waitForMine = (page: Page, count: number) =>
  page.waitForFunction(
    ({ prefix, count }) => Object.keys(localStorage).filter((key) => key.startsWith(prefix)).length === count,
    { prefix: PREFIX, count },
  );

/** Changes what the browser keeps about a picture. */
export const changeMine = (page: Page, kept: Kept, change: Partial<Kept>) =>
  page.evaluate(([key, text]) => localStorage.setItem(key, text), [
    PREFIX + kept.id,
    JSON.stringify({ ...kept, ...change }),
  ] as const);

/** Uploads pictures on the home page, makes an album of them, and returns its ID. */
export async function makeAlbum(
  page: Page,
  title: string,
  files: { name: string; mimeType: string; buffer: Buffer }[],
): Promise<string> {
  await page.setInputFiles('#file', files);
  await page.getByRole('heading', { name: `${files.length} pictures are online` }).waitFor();
  await page.getByRole('button', { name: 'Make an album' }).click();
  await page.getByLabel('Title of the album').fill(title);
  await page.keyboard.press('Enter');
  return (await page.locator('#album a').getAttribute('href'))?.split('/').at(-1) ?? '';
}
