import type { ImageRecord } from '../src/image/image.ts';
import type { ImageStore } from '../src/image/store.ts';
import type { ProxyRecord } from '../src/proxy/proxy.ts';
import type { ProxyStore } from '../src/proxy/store.ts';

/** The queries that may be answered by a slightly older state. */
type Reads = Pick<ProxyStore, 'find' | 'sample' | 'stream' | 'endpoints' | 'responseTimes' | 'summary'>;

/** A copy of the pool within the process, which answers queries for a server. */
export interface ProxyReplica extends Reads {
  /** Applies records and removals at once, keeping the IDs. */
  apply(records: readonly ProxyRecord[], removed: readonly number[]): void;
  /** Prepares a new, filled replica for queries and removals. */
  complete(): Promise<void>;
  close(): Promise<void>;
}

/** A copy of the public images within the process, which answers searches. */
export interface ImageReplica extends Pick<ImageStore, 'list' | 'prepare' | 'preparing'> {
  /** Applies images and removals at once. The same change may arrive twice. */
  apply(images: readonly ImageRecord[], removed: readonly string[]): void;
  close(): Promise<void>;
}

/** Answers these queries by the replica that `recent` returns. */
export function readsOf(recent: () => Promise<Reads>): Reads {
  return {
    find: async (query) => (await recent()).find(query),
    sample: async (filter, limit) => (await recent()).sample(filter, limit),
    async *stream(filter, order) {
      yield* (await recent()).stream(filter, order);
    },
    async *endpoints(filter) {
      yield* (await recent()).endpoints(filter);
    },
    async *responseTimes() {
      yield* (await recent()).responseTimes();
    },
    summary: async () => (await recent()).summary(),
  };
}
