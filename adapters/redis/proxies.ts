import { slices } from '../../src/lib/batches.ts';
import { createFollower } from '../../src/lib/follower.ts';
import type { Fence } from '../../src/lib/locks.ts';
import type { Log } from '../../src/lib/logger.ts';
import { endpointKey } from '../../src/proxy/fields.ts';
import type { ProxyFilter, ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import { type ProxyReplica, readsOf } from '../replicas.ts';
import { type Repeat, unavailable } from '../server-errors.ts';
import type { Arg, RedisConnection, Script } from './connection.ts';
import { fenceArgs, unfenced } from './locks.ts';
import { type Change, createChangeLog } from './log.ts';
import { decodeProxy, encodeProxy } from './proxy-codec.ts';
import { EVICT, IDS, REMOVE_DEAD, RESCHEDULE, SAVE } from './proxy-scripts.ts';
import { createUnreadable, type ReplicaCondition, type Unreadable } from './unreadable.ts';

/** Also answers what has to be exact, once it has caught up. */
type Replica = ProxyReplica & Pick<ProxyStore, 'get' | 'lookup' | 'due'>;

/** Records that one command removes, which takes about a millisecond on the server. */
const BATCH = 500;
/** Records that one command reads for a new replica: a millisecond on the server, and some in this process. */
const READ = 1000;

/**
 * A `ProxyStore` over Redis. The server holds the records and makes each write atomic. Queries are answered by a
 * replica in the process, which follows the server's log of changes. Lists, samples, exports and statistics are less
 * than a second old, and keep their last state while the server is unavailable; everything else is exact.
 */
export function createRedisProxies(
  redis: RedisConnection,
  openReplica: () => Promise<Replica>,
  log: Log = () => {},
): ProxyStore & ReplicaCondition {
  const unreadable = createUnreadable('proxy', log);
  const key = (name: string) => redis.key('proxies', name);
  const keys = { records: key('records'), log: key('log') };
  const writeKeys = [keys.records, key('ids'), key('last-id'), keys.log, key('fences')];

  const follower = createFollower<Replica, Change>({
    log: createChangeLog(redis, keys),
    late: unavailable,
    open: openReplica,
    close: (replica) => replica.close(),
    scan: () => scanRecords(redis, keys.records),
    complete: (replica) => replica.complete(),
    apply: (replica, changes) => applyChanges(replica, changes, unreadable),
  });
  const recent = async () => (await follower.recent()).view;
  const exact = async () => (await follower.exact()).view;

  const write = async (repeat: Repeat, script: Script, fence: Fence | undefined, ...args: Arg[]) =>
    unfenced(await redis.run(repeat, script, writeKeys, [...fenceArgs(fence), ...args]));

  async function removeInBatches(
    script: Script,
    condition: Arg,
    ids: readonly number[],
    fence: Fence | undefined,
  ): Promise<number> {
    let removed = 0;
    for (const batch of slices(ids, BATCH)) {
      removed += Number(await write('never', script, fence, condition, ...batch));
    }
    await follower.catchUp();
    return removed;
  }

  return {
    unreadable: unreadable.count,
    lagMs: follower.lagMs,

    ...readsOf(recent),

    get: async (id) => (await exact().catch(recent)).get(id),

    lookup: async (endpoints) => (await exact()).lookup(endpoints),

    async save(drafts, fence) {
      if (drafts.length === 0) return [];
      const latest = new Map(drafts.map((draft) => [endpointKey(draft), draft]));
      const args = [...latest].flatMap(([endpoint, draft]) => [
        endpoint,
        encodeProxy(draft),
        draft.lastChecked,
      ]);
      const ids = (await write('safe', SAVE, fence, ...args)) as (string | number)[];
      const saved = new Map(
        [...latest].map(([endpoint, draft], index) => [endpoint, { ...draft, id: Number(ids[index]) }]),
      );
      await follower.catchUp();
      return drafts.flatMap((draft) => saved.get(endpointKey(draft)) ?? []);
    },

    async reschedule(id, at, fence) {
      if (!Number.isSafeInteger(at)) throw new TypeError(`a check cannot be due at ${at}`);
      const found = await write('safe', RESCHEDULE, fence, id, at);
      await follower.catchUp();
      return found === 1;
    },

    due: async (now, limit, status) => (await exact()).due(now, limit, status),

    async removeDead(before, fence) {
      const gone = (record: ProxyRecord) => (record.lastAlive ?? record.firstSeen) < before;
      const ids: number[] = [];
      for await (const batch of (await exact()).stream({ status: 'dead' })) {
        for (const record of batch) if (gone(record)) ids.push(record.id);
      }
      return removeInBatches(REMOVE_DEAD, before, ids, fence);
    },

    async evict(keep, fence) {
      const replica = await exact();
      const { total } = await replica.summary();
      if (total <= keep) return 0;
      const bestFirst: number[] = [];
      for (const filter of [{ status: 'alive' }, { status: 'dead' }] satisfies ProxyFilter[]) {
        for await (const batch of replica.stream(filter)) bestFirst.push(...batch.map(({ id }) => id));
      }
      return removeInBatches(EVICT, keep, bestFirst.slice(keep).reverse(), fence);
    },

    version: async () => (await follower.recent()).place,
  };
}

/** Yields all records of the server in the order of their IDs, in which a replica is filled quickly. */
async function* scanRecords(redis: RedisConnection, key: string): AsyncIterable<Change[]> {
  const ids: string[] = [];
  let cursor = '0';
  do {
    const answer = await redis.run('safe', IDS, [key], [cursor, READ]);
    const [next, found] = answer as [string, string];
    if (found !== '') ids.push(...found.split(','));
    cursor = next;
  } while (cursor !== '0');
  // A typed array is sorted in a quarter of the time.
  for (const batch of slices([...Float64Array.from(ids, Number).sort()], READ)) {
    const values = (await redis.call('safe', 'HMGET', key, ...batch)) as (string | null)[];
    yield values.flatMap((value, place): Change[] => (value === null ? [] : [[String(batch[place]), value]]));
  }
}

function applyChanges(replica: Replica, changes: readonly Change[], unreadable: Unreadable): void {
  const records: ProxyRecord[] = [];
  const removed: number[] = [];
  for (const [id, value] of changes) {
    const record = value === null ? null : unreadable.read(id, () => decodeProxy(id, value));
    if (record) records.push(record);
    else removed.push(Number(id));
    if (value === null) unreadable.forget(id);
  }
  replica.apply(records, removed);
}
