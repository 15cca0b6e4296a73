import { describe, expect, test } from 'bun:test';
import { json } from '../support/json.ts';
import { PNG, type RunningServer, withServer } from '../support/servers/running-server.ts';

/** No proxy is named, as when somebody starts the server and knows nothing of this. */
const UNAWARE = { TRUSTED_PROXIES: '', SERVICES: 'image' };

async function upload(server: RunningServer, headers: Record<string, string> = {}) {
  const answer = await server.send('/api/upload', { method: 'POST', body: PNG, headers });
  return json<{ id: string; delete_token: string }>(answer);
}

async function remove({ send }: RunningServer, id: string, headers: Record<string, string> = {}) {
  return (await send(`/api/delete/${id}`, { method: 'DELETE', headers })).status;
}

test('a client that no proxy shows up in front of deletes what it uploaded, by its address', async () => {
  await withServer(UNAWARE, async (server) => {
    expect(await remove(server, (await upload(server)).id)).toBe(200);
  });
});

describe('behind a proxy that no setting names', () => {
  const headers = [
    { 'x-forwarded-for': '203.0.113.9' },
    { 'x-forwarded-for': '' },
    { via: '1.1 squid' },
  ] as Record<string, string>[];

  test.each(headers)('the address gives no right, the token does: %p', async (forwarding) => {
    await withServer(UNAWARE, async (server) => {
      const stored = await upload(server);
      const { id, delete_token } = await upload(server, forwarding);
      expect(await remove(server, stored.id, forwarding)).toBe(403);
      // What was seen once is remembered, so that leaving the header out does not help.
      expect(await remove(server, stored.id)).toBe(403);
      expect(await remove(server, id)).toBe(403);
      expect(await remove(server, id, { ...forwarding, 'x-delete-token': delete_token })).toBe(200);
    });
  });

  test('no page offers to delete', async () => {
    await withServer(UNAWARE, async (server) => {
      const { id } = await upload(server);
      const page = async (forwarding = {}) => (await server.send(`/i/${id}`, { headers: forwarding })).text();
      const button = (hidden: string) => `data-delete="${id}"${hidden}>`;
      expect(await page()).toContain(button(''));
      expect(await page({ 'x-forwarded-for': '203.0.113.9' })).toContain(button(' hidden'));
    });
  });
});

describe('behind a trusted proxy', () => {
  const through = (forwardedFor: string, more: Record<string, string> = {}) => ({
    'x-forwarded-for': forwardedFor,
    ...more,
  });

  test('a visitor deletes by the address that the proxy tells, and by no other', async () => {
    await withServer({ SERVICES: 'image' }, async (server) => {
      const { id } = await upload(server, through('198.51.100.7'));
      expect(await remove(server, id, through('198.51.100.7, 203.0.113.9'))).toBe(403);
      expect(await remove(server, id, through('203.0.113.9', { 'x-real-ip': '198.51.100.7' }))).toBe(403);
      expect(await remove(server, id, through('203.0.113.9, 198.51.100.7'))).toBe(200);
    });
  });

  test('an address that others share, or that headers disagree on, gives no right', async () => {
    await withServer({ SERVICES: 'image' }, async (server) => {
      for (const forwarding of [
        {},
        through('unknown'),
        through('127.0.0.1'),
        through('192.168.1.5'),
        through('100.64.0.9'),
        through('198.51.100.7', { 'x-real-ip': '203.0.113.9' }),
        through('198.51.100.7', { forwarded: 'for=203.0.113.9' }),
        through('198.51.100.7', { forwarded: 'for=198.51.100.7, for="[2001:db8::1]:80"' }),
      ]) {
        const { id } = await upload(server, forwarding);
        expect([forwarding, await remove(server, id, forwarding)]).toEqual([forwarding, 403]);
      }
      const agreed = through('198.51.100.7', {
        forwarded: 'for=198.51.100.7;proto=https',
        'x-real-ip': '198.51.100.7',
      });
      expect(await remove(server, (await upload(server, agreed)).id, agreed)).toBe(200);
    });
  });
});
