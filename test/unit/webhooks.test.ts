import { afterEach, describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import type { Log } from '../../src/lib/logger.ts';
import { createSafeFetch, type SafeFetch } from '../../src/lib/safe-fetch.ts';
import { signedHeaders } from '../../src/webhooks/signature.ts';
import { type PoolState, watchPool } from '../../src/webhooks/watch.ts';
import { createWebhooks, type Delivery, type WebhooksOptions } from '../../src/webhooks/webhooks.ts';
import { plainFacts } from '../support/facts.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { afterEachTest } from '../support/shared.ts';

const SECRET = 'a-secret-of-sixteen';

interface Received {
  headers: Headers;
  body: string;
}

const closers = afterEachTest();

/** A receiver that answers with these statuses in turn, and then with 200. */
function receiver(...statuses: number[]) {
  const received: Received[] = [];
  let wake = () => {};
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push({ headers: request.headers, body: await request.text() });
      wake();
      return new Response(null, { status: statuses.shift() ?? 200 });
    },
  });
  closers.push(() => server.stop(true));
  return {
    url: `http://127.0.0.1:${server.port}/hook`,
    received,
    async got(count: number) {
      while (received.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

function sender(urls: string[], changes: Partial<WebhooksOptions> = {}) {
  const clock = createFakeClock();
  const deliveries: Delivery[] = [];
  let count = 0;
  let wake = () => {};
  const webhooks = createWebhooks({
    urls,
    secret: SECRET,
    fetch: createSafeFetch({ allowPrivate: true }),
    clock,
    newId: () => `message-${++count}`,
    random: () => 0.5,
    log: () => {},
    onDelivery(delivery) {
      deliveries.push(delivery);
      wake();
    },
    ...changes,
  });
  closers.push(() => webhooks.stop());
  return {
    ...webhooks,
    clock,
    deliveries,
    /** Lets the waits pass until so many messages have an end. */
    async ended(expected: number) {
      while (deliveries.length < expected) {
        const soon = new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, 5);
        });
        await soon;
        if (deliveries.length < expected) await clock.advance(1000);
      }
    },
  };
}

describe('a message', () => {
  test('has the event, and a signature over ID, time and body', async () => {
    const hook = receiver();
    const { send, ended, clock } = sender([hook.url]);
    send('image.stored', { id: 'Zk3vQ8mT1xYb' });
    await ended(1);
    const [{ headers, body } = { headers: new Headers(), body: '' }] = hook.received;
    const timestamp = headers.get('webhook-timestamp') ?? '';
    expect(JSON.parse(body)).toMatchObject({
      id: 'message-1',
      type: 'image.stored',
      data: { id: 'Zk3vQ8mT1xYb' },
    });
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('webhook-id')).toBe('message-1');
    expect(Math.abs(Number(timestamp) - clock.now() / 1000)).toBeLessThan(60);
    const signed = signedHeaders(SECRET, { id: 'message-1', timeMs: Number(timestamp) * 1000, body });
    expect(headers.get('webhook-signature')).toBe(signed['webhook-signature'] ?? '');
  });

  test.each([
    ['of Standard Webhooks', `whsec_${Buffer.from('a key of twenty-four byt').toString('base64')}`, {}],
    ['of another form', SECRET, { format: 'raw' }],
  ] as const)('is accepted by the reference library with a secret %s', (_, secret, options) => {
    const body = JSON.stringify({ id: 'message-1', type: 'image.stored', data: { name: 'Straße' } });
    const headers = signedHeaders(secret, { id: 'message-1', timeMs: Date.now(), body });
    const library = new Webhook(secret, options);
    expect(library.verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => library.verify(body.replace('stored', 'removed'), headers)).toThrow('signature');
  });

  test('is retried in order while the receiver fails, and goes to every URL', async () => {
    const failing = receiver(500, 503, 429);
    const good = receiver();
    const { send, ended, deliveries } = sender([failing.url, good.url]);
    const ends: number[] = [];
    send('refresh.finished', { n: 1 }, () => ends.push(failing.received.length));
    send('refresh.finished', { n: 2 }, () => ends.push(failing.received.length));
    await ended(4);
    expect(ends).toEqual([4, 5]);
    expect(deliveries).toEqual(Array(4).fill('delivered'));
    const numbers = (received: Received[]) => received.map(({ body }) => JSON.parse(body).data.n);
    expect(numbers(failing.received)).toEqual([1, 1, 1, 1, 2]);
    expect(numbers(good.received)).toEqual([1, 2]);
  });

  test('is dropped if the receiver refuses it, or fails six times', async () => {
    const refusing = receiver(404);
    const first = sender([refusing.url]);
    first.send('judge.down', {});
    await first.ended(1);
    expect([refusing.received.length, first.deliveries]).toEqual([1, ['failed']]);

    let attempts = 0;
    const fetch: SafeFetch = async () => {
      attempts++;
      throw new Error('could not be reached');
    };
    const second = sender(['http://192.0.2.1/'], { fetch });
    second.send('judge.down', {});
    for (let minute = 0; minute < 20 && second.deliveries.length === 0; minute++)
      await second.clock.advance(60_000);
    expect([attempts, second.deliveries]).toEqual([6, ['failed']]);
  });

  test('is delivered if it comes at the moment in which the one before it ends', async () => {
    const { url, got, received } = receiver();
    const { send } = sender([url]);
    send('image.stored', { id: 'a' }, () => queueMicrotask(() => send('image.stored', { id: 'b' })));
    await got(2);
    expect(received.map(({ body }) => JSON.parse(body).data.id)).toEqual(['a', 'b']);
  });

  test('is sent when the server stops, in order, unless its receiver fails then as well', async () => {
    const [back, down] = [receiver(500), receiver(500, 500)];
    const { promise: waiting, resolve } = Promise.withResolvers<void>();
    let failures = 0;
    const log = () => void (++failures === 2 && resolve());
    const { send, stop, deliveries } = sender([back.url, down.url], { log });
    for (const n of [1, 2, 3]) send('image.removed', { n });
    await waiting;
    await stop();
    expect(back.received.map(({ body }) => JSON.parse(body).data.n)).toEqual([1, 1, 2, 3]);
    expect([down.received.length, deliveries]).toEqual([2, Array(3).fill('delivered')]);
  });

  test('is dropped when ten thousand wait, which are counted when the server stops', async () => {
    const lost: unknown[] = [];
    const never: SafeFetch = (_, { signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    const log: Log = (...[, , facts]) => void lost.push(plainFacts(facts).count);
    const { send, stop, deliveries, clock } = sender(['http://192.0.2.1/'], { fetch: never, log });
    for (let count = 0; count < 10_002; count++) send('image.stored', {});
    expect(deliveries).toEqual(['dropped', 'dropped']);
    const stopped = stop();
    await clock.advance(2000);
    await stopped;
    expect(lost).toEqual([10_000]);
  });
});

describe('watching the pool', () => {
  const well: PoolState = { alive: 50, refreshed: true, judges: 'up' };
  const values = new Map<string, string>();
  afterEach(() => values.clear());

  /** What is told of a pool that was like this, one look after the other. */
  async function told(pools: Partial<PoolState>[], delivers = true, low = 10): Promise<string[]> {
    const sent: string[] = [];
    const { promise: seen, resolve } = Promise.withResolvers<void>();
    const looks = pools.map((pool) => ({ ...well, ...pool }));
    const watching = watchPool({
      locks: createLocalLocks(),
      state: {
        get: async (key) => values.get(key) ?? null,
        setFenced: async (key, value) => values.set(key, value).size > 0,
      },
      low,
      log: () => {},
      everyMs: 1,
      async look() {
        const pool = looks.shift();
        if (looks.length === 0) resolve();
        return pool ?? { ...well, ...pools.at(-1) };
      },
      send(type, _data, onEnd) {
        sent.push(type);
        if (delivers) onEnd?.();
      },
    });
    await seen;
    await watching.stop();
    return sent;
  }

  test('reports each change once, and none while the pool is about the limit', async () => {
    const alive = [50, 9, 10, 9, 5, 10, 12, 10].map((count) => ({ alive: count }));
    const judges = (['down', 'down', 'up'] as const).map((state) => ({ judges: state }));
    expect(await told([...alive, ...judges])).toEqual([
      'pool.low',
      'pool.recovered',
      'judge.down',
      'judge.up',
    ]);
    const few = [4, 5, 4, 5, 6, 5].map((count) => ({ alive: count }));
    values.clear();
    expect(await told(few, true, 5)).toEqual(['pool.low', 'pool.recovered']);
  });

  test('reports nothing about a pool that was never filled, or judges that were never asked', async () => {
    expect(await told([{ alive: 0, refreshed: false, judges: 'unknown' }])).toEqual([]);
  });

  test('reports which kind of judge is down while the other is up', async () => {
    const schemes = (['up', 'down', 'down', 'up'] as const).map((https) => ({
      schemes: { http: 'up', https } as const,
    }));
    expect(await told(schemes)).toEqual(['judge.down', 'judge.up']);
    const all = { judges: 'down', schemes: { http: 'down', https: 'down' } } as const;
    expect(await told([{}, all, {}])).toEqual(['judge.down', 'judge.up']);
  });

  test('continues after a restart with what receivers know', async () => {
    expect(await told([{ alive: 5, judges: 'down' }])).toEqual(['pool.low', 'judge.down']);
    expect(await told([{ alive: 5, judges: 'unknown' }])).toEqual([]);
    expect(await told([{}], false)).toEqual(['pool.recovered', 'judge.up']);
    expect(await told([{}])).toEqual(['pool.recovered', 'judge.up']);
    expect(await told([{}])).toEqual([]);
  });
});
