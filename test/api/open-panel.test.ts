import { expect, test } from 'bun:test';
import { type RunningServer, withServer } from '../support/servers/running-server.ts';

const TITLE = 'What this server leaves open';
const TOKEN = 'a-token-of-sixteen';
/** As somebody starts it at home. */
const FRESH = { TRUSTED_PROXIES: '' };

async function home({ send }: RunningServer, headers: Record<string, string> = {}) {
  const answer = await send('/', { headers });
  return { page: await answer.text(), cache: answer.headers.get('cache-control') };
}

test('who sits at the machine is shown what is open, each with the line that closes it, and nobody keeps that page', async () => {
  await withServer(FRESH, async (server) => {
    const { page, cache } = await home(server);
    expect(page).toContain(TITLE);
    for (const line of ['UPLOAD=token', 'IMAGE_LISTING=unlisted', 'IMAGE_DELETE_BY_ADDRESS=off']) {
      expect(page).toContain(`>${line}</code>`);
    }
    expect(page).toMatch(/>ADMIN_TOKEN=[\w-]{32}<\/code>/);
    expect(cache).toBe('no-store');
    const chinese = await home(server, { 'accept-language': 'zh-CN' });
    expect(chinese.page).toContain('本服务器对外开放的内容');
  });
});

test('a visitor through a proxy, or of another name, is not, and from then on nobody is who might be one', async () => {
  await withServer(FRESH, async (server) => {
    const named = await home(server, { host: 'pics.example' });
    expect([named.page.includes(TITLE), named.cache]).toEqual([false, 'no-cache']);
    expect((await home(server)).page).toContain(TITLE);
    expect((await home(server, { 'x-forwarded-for': '203.0.113.9' })).page).not.toContain(TITLE);
    expect((await home(server)).page).not.toContain(TITLE);
  });
  await withServer({ ...FRESH, PUBLIC_URL: 'https://pics.example' }, async (server) => {
    expect((await home(server)).page).not.toContain(TITLE);
  });
});

test('somebody elsewhere is not shown it, administrator or not', async () => {
  await withServer({ ADMIN_TOKEN: TOKEN }, async (server) => {
    const from = { 'x-forwarded-for': '203.0.113.9' };
    const { page, cache } = await home(server, { ...from, authorization: `Bearer ${TOKEN}` });
    expect([page.includes(TITLE), cache]).toEqual([false, 'no-cache']);
  });
});
