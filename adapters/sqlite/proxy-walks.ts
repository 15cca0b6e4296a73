import { setImmediate } from 'node:timers/promises';
import { slices } from '../../src/lib/batches.ts';
import type { Endpoint, ProxyFilter, Sort } from '../../src/proxy/proxy.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import type { Database } from './database.ts';
import { drawIds, type ProxyQueries } from './proxy-queries.ts';
import { type Cursor, walkQuery } from './proxy-sql.ts';

interface ProxyWalksOptions {
  queries: ProxyQueries;
  /** 0 <= random() < 1. */
  random: () => number;
  /** Rows read before other work gets its turn. */
  steps: { ids: number; records: number; endpoints: number };
}

/** Reads all matches in short steps. */
export function createProxyWalks(
  database: Database,
  { queries, random, steps }: ProxyWalksOptions,
): Pick<ProxyStore, 'stream' | 'endpoints' | 'responseTimes'> {
  const { select, count, ids, load, areRare, simplified } = queries;

  /** Yields the records of the IDs, in batches, if they still match when they are read. */
  async function* loadInSteps(ids: readonly number[], filter: ProxyFilter) {
    for (const some of slices(ids, steps.records)) {
      // Not before the first: a short export that is ready at once is sent with its length.
      if (some[0] !== ids[0]) await setImmediate();
      const records = load(some, filter);
      if (records.length > 0) yield records;
    }
  }

  /** Returns every matching ID at once, or `null` if a walk finds them in the order step by step. */
  function sortedIds(filter: ProxyFilter, order: Sort | 'random'): number[] | null {
    if (order === 'random') return drawIds(database, { ids, filter, total: count(filter), random });
    return order === 'dependable' && !areRare(filter) ? null : ids(filter, order);
  }

  /** Yields the keys and columns of every match, most dependable first, from the index. */
  async function* walkKeys<Row extends Cursor>(filter: ProxyFilter, limit: number, columns = '') {
    let cursor: Cursor | null = null;
    for (;;) {
      const step: Row[] = select(walkQuery(filter, limit, cursor, { columns }));
      yield step;
      cursor = step.at(-1) ?? null;
      if (step.length < limit) return;
      await setImmediate();
    }
  }

  /** Returns every matching ID, most dependable first. A row that moves meanwhile counts once. */
  async function gather(filter: ProxyFilter): Promise<Set<number>> {
    const ids = new Set<number>();
    for await (const step of walkKeys(filter, steps.ids)) for (const { id } of step) ids.add(id);
    return ids;
  }

  /** Yields every match, most dependable first, in its state when it is read. */
  async function* walk(filter: ProxyFilter): AsyncGenerator<Endpoint[]> {
    const isNew = createIdSet();
    for await (const step of walkKeys<Cursor & Endpoint>(filter, steps.endpoints, ', protocol, ip, port')) {
      // A row that moved down after it was seen appears again.
      const fresh = step.filter(({ id }) => isNew(id));
      if (fresh.length > 0) yield fresh;
    }
  }

  return {
    async *stream(wanted, order = 'dependable') {
      const filter = simplified(wanted);
      yield* loadInSteps(sortedIds(filter, order) ?? [...(await gather(filter))], filter);
    },

    async *endpoints(wanted) {
      const filter = simplified(wanted);
      const sorted = sortedIds(filter, 'dependable');
      yield* sorted ? loadInSteps(sorted, filter) : walk(filter);
    },

    async *responseTimes() {
      for await (const step of walkKeys({ status: 'alive' }, steps.ids))
        yield step.map(({ slowness }) => slowness);
    },
  };
}

/** IDs of one block, one bit each. */
const BLOCK_BITS = 32_768;

/**
 * Returns a function that adds a positive integer to a set, and returns false if it was already there. Of IDs that are
 * close together, 200,000 take 25 kB: a client that stops reading an export keeps them.
 */
function createIdSet(): (id: number) => boolean {
  const blocks = new Map<number, Uint8Array>();
  return (id) => {
    const number = Math.floor(id / BLOCK_BITS);
    const block = blocks.get(number) ?? new Uint8Array(BLOCK_BITS / 8);
    blocks.set(number, block);
    const [place, bit] = [(id % BLOCK_BITS) >> 3, 1 << (id % 8)];
    const bits = block[place] ?? 0;
    block[place] = bits | bit;
    return (bits & bit) === 0;
  };
}
