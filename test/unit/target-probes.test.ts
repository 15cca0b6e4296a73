import { afterEach, beforeEach, expect, test } from 'bun:test';
import { parseConfig } from '../../src/config.ts';
import { answerReader, openingReader } from '../../src/proxy/check/http.ts';
import { Inbox } from '../../src/proxy/check/inbox.ts';
import { type Asker, createAsker, type Expected } from '../../src/proxy/targets/ask.ts';
import { createProbes, PROBE_GAP_MS } from '../../src/proxy/targets/probes.ts';
import { proxyKeyOf } from '../../src/proxy/targets/site.ts';
import { createSites } from '../../src/proxy/targets/sites.ts';
import { type GatewayWorld, startGatewayWorld } from '../support/gateway/world.ts';
import { createPool, draft, endpointOf } from '../support/pool/pool.ts';

let pool: Awaited<ReturnType<typeof createPool>>;
beforeEach(async () => {
  pool = await createPool();
});
afterEach(() => pool.close());

const NAMED = [{ name: 'search', url: 'https://www.example.com/x', statuses: [200, 204] }];
const url = (n: number) => `https://192.0.2.${n}:80`;

/** A copy of the server, and what it asks through which proxy. */
function createCopy(answer: (ip: string) => number | null, mayAsk = () => true) {
  const sites = createSites({ random: Math.random });
  const asked: string[] = [];
  const { store, state, locks, clock } = pool;
  const probe = createProbes({
    named: NAMED,
    store,
    state,
    locks,
    sites,
    ask: async ({ ip }, _, { statuses }) => {
      asked.push(ip);
      const status = answer(ip);
      return status === null ? null : statuses.includes(status);
    },
    mayAsk,
    now: clock.now,
  });
  const pairOf = (n: number) => sites.facts('example.com')?.pairs.get(proxyKeyOf(endpointOf(url(n))));
  return { probe, sites, asked, pairOf };
}

async function save(count: number): Promise<void> {
  const now = pool.clock.now();
  const drafts = Array.from({ length: count }, (_, n) => draft(url(n + 1), now, { uptime: 0.9 - n / 1000 }));
  await pool.store.save([
    ...drafts,
    draft('http://198.51.100.1:80', now),
    draft('https://198.51.100.2:80', now, { proof: 'echoed' }),
    draft('https://198.51.100.3:80', now, { status: 'dead' }),
  ]);
}

test('working, proven proxies that can reach the target take turns, one per interval, however many copies there are', async () => {
  await save(3);
  const copies = [createCopy(() => 200), createCopy(() => 200)];
  for (let round = 0; round < 3; round++) {
    await Promise.all(copies.map(({ probe }) => probe()));
    await Promise.all(copies.map(({ probe }) => probe()));
    await pool.clock.advance(PROBE_GAP_MS);
  }
  const asked = copies.flatMap((copy) => copy.asked);
  expect(asked).toHaveLength(3);
  expect(asked.every((ip) => ip.startsWith('192.0.2.'))).toBe(true);
  const alone = createCopy(() => 200);
  for (let round = 0; round < 6; round++) {
    await alone.probe();
    await pool.clock.advance(PROBE_GAP_MS);
  }
  expect(alone.asked).toEqual([1, 2, 3, 1, 2, 3].map((n) => `192.0.2.${n}`));
});

test('the statuses in the setting are good, all others are bad', async () => {
  await save(2);
  const { probe, pairOf } = createCopy((ip) => (ip.endsWith('.1') ? 204 : 403));
  for (let round = 0; round < 2; round++) {
    await probe();
    await pool.clock.advance(PROBE_GAP_MS);
  }
  expect([pairOf(1), pairOf(2)]).toEqual([
    { good: 1, bad: 0 },
    { good: 0, bad: 1 },
  ]);
});

test('when nothing responds any more, our own network is to blame, and while it is down, nothing is tried', async () => {
  await save(40);
  const { probe, sites, asked } = createCopy(() => null);
  for (let round = 0; round < 40; round++) {
    await probe();
    await pool.clock.advance(PROBE_GAP_MS);
  }
  expect(asked).toHaveLength(40);
  expect(sites.facts('example.com')?.pairs.size).toBe(8);
  const down = createCopy(
    () => 200,
    () => false,
  );
  await down.probe();
  expect(down.asked).toEqual([]);
});

test('a probe judges the target through a real proxy, by status and text, and returns null through one that fails', async () => {
  const world: GatewayWorld = await startGatewayWorld();
  const ca = await Bun.file(world.ca).text();
  const [asker, hasty] = [30_000, 1000].map((timeoutMs) =>
    createAsker({ timeoutMs, ca, monotonic: () => performance.now() }),
  ) as [Asker, Asker];
  const [http = '', socks = '', ...failing] = world.listOf('http', 'socks5', 'reset', 'login', 'hang');
  const through = (proxy: string, target: string, expected: Partial<Expected> = {}, by = asker) =>
    by.ask(endpointOf(target.startsWith('https') ? proxy.replace(/^http:/, 'https:') : proxy), target, {
      statuses: [200],
      ...expected,
    });
  expect(await through(http, `${world.https}/broken`)).toBe(false);
  expect(await through(http, `${world.https}/broken`, { statuses: [200, 503] })).toBe(true);
  expect(await through(http, `${world.https}/broken`, { statuses: [503], contains: ['order'] })).toBe(true);
  expect(await through(socks, `${world.https}/`)).toBe(true);
  for (const target of [`${world.http}/`, `${world.https}/`]) {
    const judged = (expected: Partial<Expected>) => through(http, target, expected);
    expect(await judged({ contains: ['page of the', 'target'] })).toBe(true);
    expect(await judged({ contains: ['page', 'captcha'] })).toBe(false);
    expect(await judged({ without: ['captcha'] })).toBe(true);
    expect(await judged({ contains: ['target'], without: ['captcha', 'page'] })).toBe(false);
  }
  // The first 64 KB of 8 MB are enough.
  expect(await through(http, `${world.http}/large`, { contains: ['picpool gateway'] })).toBe(true);
  expect(
    await Promise.all(
      failing.map((proxy) => through(proxy, `${world.https}/`, { contains: ['page'] }, hasty)),
    ),
  ).toEqual([null, null, null]);
  asker.close();
  hasty.close();
  await world.close();
});

test('the opening of a body is read in every framing, cut anywhere, and no further than 64 KB', () => {
  const heard = (answer: string, size: number, ended = false) => {
    const read = openingReader(20);
    const inbox = new Inbox();
    const bytes = Buffer.from(answer);
    for (let start = 0; start < bytes.length; start += size) {
      inbox.add(Buffer.from(bytes.subarray(start, start + size)));
      const found = read(inbox);
      if (found) return found;
    }
    inbox.ended = ended;
    return read(inbox);
  };
  const text = 'a page of the target, which goes on and on';
  const chunked =
    'Transfer-Encoding: chunked\r\n\r\n5;x=1\r\na pag\r\n25\r\ne of the target, which goes on and on\r\n0\r\n\r\n';
  for (const size of [1, 3, 1000]) {
    for (const rest of [`Content-Length: 42\r\n\r\n${text}`, `\r\n${text}`, chunked]) {
      const answer = `HTTP/1.1 200 OK\r\n${rest}`;
      expect(heard(answer, size)).toEqual({ status: 200, body: text.slice(0, 20) });
    }
    expect(heard('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd', size)).toEqual({
      status: 200,
      body: 'abc',
    });
    expect(heard('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcd', size)).toBeUndefined();
    expect(heard('HTTP/1.1 200 OK\r\n\r\nabcd', size, true)).toEqual({ status: 200, body: 'abcd' });
    const short = 'HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n';
    expect(heard(short, size)).toEqual({ status: 403, body: 'ab' });
    expect(heard('HTTP/1.1 204 No\r\nX(1): y\r\n\r\n', size)).toEqual({ status: 204, body: '' });
    const encoded = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd';
    expect(heard(encoded, size)).toEqual({ status: 200, body: '' });
  }
  expect(() => heard('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 1000)).toThrow(
    /chunk is malformed/,
  );
});

test('a body of tiny chunks is read, and one of an impossible length is not', () => {
  const heard = (head: string, body: string) => {
    const inbox = new Inbox();
    inbox.add(Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`));
    return openingReader(1600)(inbox);
  };
  const tiny = '1\r\na\r\n'.repeat(1600);
  expect(heard('Transfer-Encoding: chunked', tiny)?.body).toBe('a'.repeat(1600));
  expect(() => heard('A: b\r\n'.repeat(2000), '')).toThrow('longer than 8 KB');
  for (const length of ['-5', 'five', '1e999', '0x10'])
    expect(() => heard(`Content-Length: ${length}`, tiny)).toThrow('length of the body is malformed');
});

test.each([
  ['of an answer', answerReader()],
  ['of an opening', openingReader(16_384)],
])('the chunk sizes %s are not read without end', (_, read) => {
  const inbox = new Inbox();
  inbox.add(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
  const piece = Buffer.from(`1;${'x'.repeat(250)}\r\na\r\n`.repeat(256));
  const more = () => {
    inbox.add(piece);
    return read(inbox) === undefined;
  };
  let bytes = 0;
  try {
    while (more()) bytes += piece.length;
  } catch {}
  expect(bytes).toBeLessThan(400_000);
});

test('what is expected of a target is written behind its URL', () => {
  const read = (text: string) => parseConfig({ PROXY_TARGETS: text }).PROXY_TARGETS;
  expect(
    read(
      'a=https://a.example/x#200|301~"Add to cart, now"!captcha, b=http://b.example/ , c=http://c.example/#~ok',
    ),
  ).toEqual([
    {
      name: 'a',
      url: 'https://a.example/x',
      statuses: [200, 301],
      contains: ['Add to cart, now'],
      without: ['captcha'],
    },
    { name: 'b', url: 'http://b.example/', statuses: [200], contains: [], without: [] },
    { name: 'c', url: 'http://c.example/', statuses: [200], contains: ['ok'], without: [] },
  ]);
  for (const wrong of [
    'a=https://a.example/#200~',
    'a=https://a.example/#200~"x',
    'a=https://a.example/#~a b',
    'a=x',
  ])
    expect(() => read(wrong)).toThrow(/PROXY_TARGETS/);
});
