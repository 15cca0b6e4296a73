import type { StateStore } from '../../lib/state.ts';

/** State: bytes of all smaller versions. */
const KEY = 'image-version-bytes';

/**
 * How many bytes the smaller versions take. Counted along, and recounted by each sweep: what copies of the server
 * add at the same moment may be missed until then.
 */
export interface VersionBytes {
  total(): Promise<number>;
  /** Rejects never; a negative number takes away. */
  add(bytes: number): Promise<void>;
  /** Sets what was counted. */
  recount(bytes: number): Promise<void>;
}

export function createVersionBytes(state: Pick<StateStore, 'get' | 'set'>): VersionBytes {
  let last = Promise.resolve();
  const total = async () => Number((await state.get(KEY)) ?? 0);
  const set = (bytes: number) => state.set(KEY, String(Math.max(0, Math.round(bytes))));
  return {
    total,
    add(bytes) {
      if (bytes !== 0) last = last.then(async () => set((await total()) + bytes)).catch(() => {});
      return last;
    },
    recount: set,
  };
}
