import { describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { type AppOptions, createApp } from '../../src/app.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { Feature } from '../../src/feature.ts';
import { Overloaded } from '../../src/http/admission-queue.ts';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../src/http/context.ts';
import { type Count, createLimits } from '../../src/http/limits.ts';
import { createResponseCache } from '../../src/http/response-cache.ts';
import { json as jsonBody, route } from '../../src/http/route.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { DEFAULT_RATES } from '../../src/lib/rates.ts';
import { breathe } from '../../src/lib/schedule.ts';
import { openTestWeb } from '../support/browser/web.ts';
import { plainFacts } from '../support/facts.ts';
import { json } from '../support/json.ts';

const web = await openTestWeb();

const query = Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1 })) });

/** An application around a few routes that show what it adds. */
function createTestApp(options: { limited?: boolean; log?: string[] } = {}, parts: Partial<AppOptions> = {}) {
  const throwing = (error: Error) => () => {
    throw error;
  };
  const routes = [
    route('GET /list', ({ query: { limit } }) => Response.json({ limit }), {
      cached: createResponseCache({ version: async () => '1' }),
      query,
    }),
    route('POST /echo', ({ body }) => Response.json(body), {
      body: jsonBody(Type.Object({ port: Type.Integer() })),
    }),
    route('GET /broken', throwing(new Error('the secret is Rosebud'))),
    route(
      'GET /away',
      throwing(new AppError('unavailable', inEnglish('The store is away.'), { retryAfterMs: 2500 })),
    ),
    route(
      'GET /full',
      throwing(new AppError('storage_full', 'The image storage is full.', { cause: new Error('disk') })),
    ),
    route('GET /own', () => new Response('', { headers: { 'referrer-policy': 'origin' } })),
    route('GET /spoken', throwing(new AppError('not_found', inEnglish('There is no such thing.'))), {
      dialect: () => ({ refusal: ({ error, status }) => ({ status, body: { said: error } }) }),
    }),
    route('GET /crowded', throwing(new Overloaded())),
  ];
  const feature: Feature = {
    name: 'Test',
    basePath: '',
    routes,
    stats: async () => ({ things: 1 }),
    statsAnswer: { schema: Type.Object({ things: Type.Integer() }), example: { things: 1 } },
  };
  const contexts = createContexts({
    clients: createClients({ trust: createProxyTrust([]), log: () => {}, now: Date.now }),
    publicUrl: undefined,
    adminToken: undefined,
  });
  const app = createApp({
    version: '0.0.0',
    features: [feature],
    web,
    contexts,
    limits: options.limited
      ? createLimits({
          limiter: createLocalRateLimiter({ now: () => 0 }),
          rates: DEFAULT_RATES,
          maxUploadBytes: 1024,
        })
      : null,
    health: [],
    publicUrl: undefined,
    log: (_level, message, facts) => options.log?.push(`${message} ${plainFacts(facts).cause ?? ''}`),
    now: () => 0,
    ...parts,
  });
  return {
    describe: app.describe,
    send: (path: string, init?: RequestInit) =>
      app.handle(new Request(`http://localhost${path}`, init), () => '::ffff:198.51.100.7'),
  };
}

const post = (body: string) => ({ method: 'POST', body, headers: { 'content-type': 'application/json' } });

describe('the error envelope', () => {
  test.each([
    ['an unknown path', '/nowhere', {}, 404, 'not_found'],
    ['a faulty parameter', '/list?limit=0', {}, 400, 'invalid_parameter'],
    ['a body that is not JSON', '/echo', post('{'), 400, 'invalid_body'],
    [
      'a body that is not announced as JSON',
      '/echo',
      { method: 'POST', body: '{"port":1}' },
      400,
      'invalid_body',
    ],
    ['a JSON body of the wrong shape', '/echo', post('{"port":"x"}'), 400, 'invalid_body'],
    ['a body that is too large', '/echo', post(`"${'x'.repeat(70_000)}"`), 413, 'too_large'],
    ['a part that is away', '/away', {}, 503, 'unavailable'],
    ['a fault inside', '/broken', {}, 500, 'internal'],
    ['a host that is none', '/list', { headers: { host: 'two hosts' } }, 400, 'invalid_parameter'],
  ] as const)('%s is answered in it', async (_name, path, init, status, code) => {
    const answer = await createTestApp().send(path, init);
    const body = await json(answer);
    expect(answer.status).toBe(status);
    expect(body).toMatchObject({ success: false, code, request_id: answer.headers.get('x-request-id') });
    expect(body.error).toMatch(/\.$/);
  });

  test('a wrong method is 405 and names the right ones', async () => {
    const answer = await createTestApp().send('/list', { method: 'PUT' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
    expect(await json(answer)).toMatchObject({ success: false, code: 'method_not_allowed' });
  });

  test.each(['many', `1${'0'.repeat(320)}`])('each faulty field is explained (%#)', async (limit) => {
    const answer = await createTestApp().send(`/list?limit=${limit}`);
    expect((await json(answer)).details).toEqual([
      {
        field: 'limit',
        message: expect.stringContaining(`integer of at least 1, not "${limit.slice(0, 56)}`),
      },
    ]);
  });

  test('what broke inside is logged with the request id and not shown', async () => {
    const log: string[] = [];
    const answer = await createTestApp({ log }).send('/broken');
    expect(await answer.text()).not.toContain('Rosebud');
    expect(log.join()).toContain('the secret is Rosebud');
  });

  test('a part that is away is logged, and not each of too many requests', async () => {
    const log: string[] = [];
    const { send } = createTestApp({ log });
    const failures = () => log.filter((line) => line.startsWith('request failed'));
    expect((await send('/crowded')).status).toBe(503);
    expect(failures()).toEqual([]);
    expect((await send('/away')).status).toBe(503);
    expect((await send('/full')).status).toBe(507);
    expect(failures()).toEqual(['request failed AppError: The store is away.', 'request failed Error: disk']);
  });

  test('503 says when to come back', async () => {
    expect((await createTestApp().send('/away')).headers.get('retry-after')).toBe('3');
  });
});

test('only the answer to a wrong method names the right ones', async () => {
  for (const path of ['/nowhere', '/list?limit=0', '/broken']) {
    expect((await createTestApp().send(path)).headers.get('allow')).toBeNull();
  }
});

describe('a refusal', () => {
  const person = { headers: { accept: 'text/html' } };
  const typeOf = async (path: string, init: RequestInit, parts?: Partial<AppOptions>) =>
    (await createTestApp({}, parts).send(path, init)).headers.get('content-type')?.split(';')[0];

  test('is a page for people alone', async () => {
    expect(await typeOf('/nowhere', person)).toBe('text/html');
    expect(await typeOf('/away', person)).toBe('text/html');
    expect(await typeOf('/nowhere', {})).toBe('application/json');
  });

  test('that asks for a token is not a page, because browsers would show it instead of asking', async () => {
    const metrics = { registry: createMetrics(), token: 'secret' };
    expect(await typeOf('/metrics', person, { metrics })).toBe('application/json');
  });

  test('is in the words of the service whose client has asked', async () => {
    for (const init of [{}, person]) {
      const answer = await createTestApp().send('/spoken', init);
      expect([answer.status, await answer.json()]).toEqual([404, { said: 'There is no such thing.' }]);
    }
  });

  test('waits only where a client ignores that it is limited', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const held: string[] = [];
    const holdBack = (client: string) => {
      held.push(client);
      return promise;
    };
    const count: Count = ({ url }) => ({
      refusal: url.endsWith('/echo') ? new AppError('rate_limited', inEnglish('Too many.')) : null,
      limit: 1,
      remaining: 0,
      reset: 1,
    });
    const { send } = createTestApp({}, { patience: { holdBack }, limits: { of: () => count } });
    expect((await send('/nowhere')).status).toBe(404);
    expect(held).toEqual([]);
    const refused = Promise.resolve(send('/echo', post('{}')));
    expect(await Promise.race([refused, breathe().then(() => 'waits')])).toBe('waits');
    expect(held).toEqual(['198.51.100.7']);
    resolve();
    expect((await refused).status).toBe(429);
  });
});

test('each answer is logged with its duration, as an error only if it is the fault of the server', async () => {
  const lines: unknown[] = [];
  const log: AppOptions['log'] = (level, message, facts) => {
    if (message === 'request') lines.push([level, plainFacts(facts)]);
  };
  let ms = 1000;
  const { send } = createTestApp({}, { log, now: () => (ms += 7) });
  for (const path of ['/list?limit=1', '/nowhere', '/away']) await send(path);
  const facts = { method: 'GET', ms: 7, peer: '198.51.100.7', request_id: expect.any(String) };
  expect(lines).toEqual([
    ['info', { ...facts, path: '/list', status: 200 }],
    ['info', { ...facts, path: '/nowhere', status: 404 }],
    ['error', { ...facts, path: '/away', status: 503 }],
  ]);
});

test('each request is counted, and metrics are served only if there are any', async () => {
  const { send } = createTestApp({}, { metrics: { registry: createMetrics() } });
  await send('/list');
  await send('/nowhere');
  const text = await (await send('/metrics')).text();
  expect(text).toMatch(/_seconds_count\{route="\/list",method="GET",status="200"\} 1\n/);
  expect((await createTestApp().send('/metrics')).status).toBe(404);
});

test('a client has a request in flight until it is answered, whatever the answer is', async () => {
  const flight: string[] = [];
  const inFlight = (client: string) => {
    flight.push(`${client} enters`);
    return () => void flight.push(`${client} leaves`);
  };
  const { send } = createTestApp({}, { inFlight });
  for (const path of ['/own', '/away']) {
    await send(path);
    expect(flight.splice(0)).toEqual(['198.51.100.7 enters', '198.51.100.7 leaves']);
  }
});

test('the description names the public URL, and routes of the server itself', async () => {
  const about = { id: 'getOwn', tag: 'Server', summary: 'Own', answers: {} };
  const routes = [route('GET /api/own', () => new Response('yes'), { about })];
  const { send, describe } = createTestApp({}, { publicUrl: 'https://img.example', routes });
  const described = (await describe()) as { servers: { url: string }[]; paths: Record<string, unknown> };
  expect(described.servers.map(({ url }) => url)).toEqual(['https://img.example']);
  expect(Object.keys(described.paths)).toContain('/api/own');
  expect(await (await send('/api/own')).text()).toBe('yes');
  expect((await createTestApp().send('/api/own')).status).toBe(404);
});

test('every answer tells no other site where it was, unless its route says otherwise', async () => {
  const { send } = createTestApp();
  const policyOf = async (path: string) => (await send(path)).headers.get('referrer-policy');
  expect([await policyOf('/list'), await policyOf('/own')]).toEqual(['no-referrer', 'origin']);
});

test('a health check is answered before most of the hundreds of requests that came in ahead of it', async () => {
  const { send } = createTestApp();
  const answered: string[] = [];
  const note = async (path: string) => {
    const { status } = await send(path);
    answered.push(`${path} ${status}`);
  };
  const pages = Array.from({ length: 400 }, (_, number) => note(`/list?limit=${number + 1}`));
  await Promise.all([...pages, note('/livez')]);
  expect(answered).toHaveLength(401);
  expect(answered.indexOf('/livez 200')).toBeLessThan(50);
});

test('limits also count kept answers', async () => {
  const { send } = createTestApp({ limited: true });
  const first = Number((await send('/list')).headers.get('ratelimit-remaining'));
  for (let left = first - 1; left >= 0; left--) {
    const { status, headers } = await send('/list');
    expect([status, headers.get('ratelimit-remaining')]).toEqual([200, String(left)]);
  }
  expect((await send('/list')).status).toBe(429);
});
