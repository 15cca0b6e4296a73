import type { Locator, Page } from 'playwright-core';

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

export const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };
export const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());
/** The card of an upload. */
export const cardOf = (page: Page, name: string) => page.locator('.upload-card').filter({ hasText: name });

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

/** Takes what room the browser has left, and more with every later write. */
export const fillStorage = (page: Page) =>
  page.evaluate(() => {
    for (let size = 2 ** 22; size >= 1; size /= 2) {
      try {
        for (let part = 0; ; part++) localStorage.setItem(`full ${size} ${part}`, 'x'.repeat(size));
      } catch {}
    }
  });

/** Hands a picture to an element as a drop or a paste of the system would. */
export const handTo = (
  target: Locator,
  event: 'drop' | 'paste',
  { name, type, bytes }: { name: string; type: string; bytes: Buffer },
) =>
  target.evaluate(
    (element, { base64, event, name, type }) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([Uint8Array.fromBase64(base64)], name, { type }));
      const init = { bubbles: true, cancelable: true };
      element.dispatchEvent(
        event === 'paste'
          ? new ClipboardEvent('paste', { ...init, clipboardData })
          : new DragEvent('drop', { ...init, dataTransfer: clipboardData }),
      );
    },
    { base64: bytes.toString('base64'), event, name, type },
  );
