/**
 * What the calls of Bun cost that every request of a cached list needs, in ns: lower quartiles, so that a busy machine hardly matters.
 * They are timed in turn, one per request, inside the handler of a server under load, because the first access to a URL, header or
 * address costs more than later ones. Needs `wrk`.
 *
 *     bun bench/calls.ts
 */
import { RequestFacts } from '../src/http/request-facts.ts';

const SAMPLES = 6000;
/** Until then, the engine still compiles. */
const WARM_UP = 3000;

const BODY = 'x'.repeat(24_000);
const NAMES = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'x-request-id'];
const KNOWN = [
  'cache-control',
  'content-type',
  'cross-origin-resource-policy',
  'etag',
  'referrer-policy',
  'x-content-type-options',
];
const headers = new Headers([...NAMES, ...KNOWN].map((name) => [name, 'value']));
const written = new Headers(headers);
const PATH = '/api/v1/proxies';
const PEER = '127.0.0.1';
const facts = { request_id: '', method: 'GET', path: PATH, status: 200, ms: 0, peer: PEER };

let count = 0;
/** Results are kept, so that no call can be optimised away. */
let kept: unknown;

const factsOf = (request: Request, id: string) =>
  new RequestFacts({ request, path: PATH, context: { id, peer: PEER } }, 200, 0);

type Call = (request: Request, server: Bun.Server<undefined>) => unknown;
const CALLS: Record<string, { before?: Call; call: Call }> = {
  'nothing (the clock itself)': { call: () => null },
  'url, for the first time': { call: (request) => request.url },
  'headers.get, for the first time': { call: ({ headers: own }) => own.get('host') },
  'headers.get of a missing one, again': {
    before: ({ headers: own }) => own.get('host'),
    call: ({ headers: own }) => own.get('if-none-match'),
  },
  requestIP: { call: (request, server) => server.requestIP(request)?.address },
  'performance.now': { call: () => performance.now() },
  'headers.set of x-request-id': { call: () => written.set('x-request-id', `request-${++count}`) },
  'headers.set of ratelimit-remaining': { call: () => written.set('ratelimit-remaining', String(++count)) },
  'new Response with ten headers': { call: () => new Response(BODY, { headers }) },
  'JSON.stringify of a log line': {
    call: () => JSON.stringify({ ...facts, request_id: `request-${++count}` }),
  },
  'the same from our own facts': {
    call: (request) => factsOf(request, `request-${++count}`).members(),
  },
};

const calls = Object.entries(CALLS).map(([name, { before, call }]) => ({
  name,
  before,
  call,
  ns: [] as number[],
}));
const { promise: measured, resolve } = Promise.withResolvers<void>();
let turn = 0;
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request, own) {
    const current = calls[turn++ % calls.length];
    if (!current) throw new Error('there is nothing to measure');
    kept = current.before?.(request, own);
    const startedAt = Bun.nanoseconds();
    kept = current.call(request, own);
    const ns = Bun.nanoseconds() - startedAt;
    if (turn > WARM_UP * calls.length) current.ns.push(ns);
    if (turn === (WARM_UP + SAMPLES) * calls.length) resolve();
    return new Response(String(kept === undefined));
  },
});
const wrk = Bun.spawn(['wrk', '-t1', '-c32', '-d600s', `${server.url}api/v1/proxies?limit=50`], {
  stdout: 'ignore',
});
await measured;
wrk.kill();
await server.stop(true);

const quartile = ({ ns }: { ns: number[] }) =>
  ns.toSorted((a, b) => a - b)[Math.floor(ns.length / 4)] ?? Number.NaN;
const [clock, ...rows] = calls;
console.log('| call | ns |\n|---|---|');
for (const row of rows) console.log(`| ${row.name} | ${quartile(row) - (clock ? quartile(clock) : 0)} |`);
