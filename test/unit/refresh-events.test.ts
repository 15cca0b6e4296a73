import { afterEach, beforeEach, expect, test } from 'bun:test';
import { refreshEvents } from '../../src/proxy/pool/events.ts';
import { statsExample } from '../../src/proxy/pool/stats.ts';
import { NO_JOB, type RefreshJob } from '../../src/proxy/refresh/progress.ts';

const source = (name: string, found = 0) => ({
  name,
  state: 'done' as const,
  found,
  fresh: 0,
  checked: 0,
  alive: 0,
  error: null,
  yield: null,
  pausedUntil: null,
});
const many = Array.from({ length: 85 }, (_, index) => source(`list-${index}`, index));
const job: RefreshJob = { ...NO_JOB, id: 'first', state: 'running', stage: 'fetch', sources: many };

interface Told {
  id: string;
  sources: { name: string }[];
}

let leaving: AbortController;
beforeEach(() => {
  leaving = new AbortController();
});
afterEach(() => leaving.abort());

/** A stream of events, and what is published into it. */
function listen(current: RefreshJob, lastId: string | null = null) {
  let publish = (_: RefreshJob) => {};
  const service = {
    subscribe(listener: (job: RefreshJob) => void) {
      publish = listener;
      return () => {};
    },
  };
  const stream = refreshEvents(service, current, { lastId, signal: leaving.signal, onEnd: () => {} });
  const reader = stream.getReader();
  const next = async () => new TextDecoder().decode((await reader.read()).value);
  return { publish: (one: RefreshJob) => publish(one), next };
}

const idIn = (text: string) => /^id: (.*)$/m.exec(text)?.[1] ?? '';
const told = (text: string) => JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '') as Told;

test('the first event has all lists, the others only those that changed', async () => {
  const { publish, next } = listen(job);
  const first = await next();
  expect(first).toStartWith('retry: 3000\n\n');
  expect(told(first).sources.length).toBe(85);
  publish({ ...job, fetched: 7, sources: many.with(3, source('list-3', 7)) });
  const second = await next();
  expect(told(second)).toMatchObject({ id: 'first', fetched: 7, sources: [{ name: 'list-3', found: 7 }] });
  expect(second.length).toBeLessThan(1000);
  publish({ ...job, id: 'second' });
  expect(told(await next()).sources.length).toBe(85);
});

test('a client that reconnects with the last event ID gets nothing until there is news', async () => {
  const before = listen(job);
  const id = idIn(await before.next());
  const after = listen(job, id);
  expect(await after.next()).toBe('retry: 3000\n\n: nothing has changed\n\n');
  after.publish({ ...job, fetched: 1 });
  const news = await after.next();
  expect(idIn(news)).not.toBe(id);
  expect(told(news)).toMatchObject({ fetched: 1, sources: [] });
  expect(told(await listen({ ...job, fetched: 1 }, id).next()).sources.length).toBe(85);
});

test.each([
  ['when it changes', null, ['as it was when the client came', 'changed before the first look']],
  ['at once if it reconnects', 'an earlier one', ['may have changed meanwhile']],
] as const)('a client that asks for it gets the size of the pool %s', async (_when, lastId, versions) => {
  const looks = [...versions];
  const pool = {
    version: () => looks.shift() ?? versions.at(-1) ?? '',
    stats: async () => ({ ...statsExample, alive: 7 }),
  };
  const service = { subscribe: () => () => {} };
  const { signal } = leaving;
  const stream = refreshEvents(service, job, { lastId, signal, pool, poolMs: 5, onEnd: () => {} });
  const reader = stream.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  const text = first.includes('event: pool') ? first : new TextDecoder().decode((await reader.read()).value);
  expect(text).toEndWith(`event: pool\ndata: ${JSON.stringify({ ...statsExample, alive: 7 })}\n\n`);
});

test('a client that reconnects is told of a list that has failed meanwhile', async () => {
  const id = idIn(await listen(job).next());
  const failed = { ...source('list-3', 3), state: 'failed' as const, error: 'answered 500' };
  const after = listen({ ...job, sources: many.map((one, index) => (index === 3 ? failed : one)) }, id);
  expect(told(await after.next()).sources).toContainEqual(
    expect.objectContaining({ state: 'failed', error: 'answered 500' }),
  );
});
