import type { StateStore } from '../../lib/state.ts';

/** State key: bytes of all smaller versions. */
const KEY = 'image-version-bytes';

/**
 * Counts the bytes of the smaller versions. Each sweep recounts them, because concurrent additions by several copies
 * of the server may be missed.
 */
export interface VersionBytes {
  total(): Promise<number>;
  /** Adds bytes; a negative number subtracts. Never rejects. */
  add(bytes: number): Promise<void>;
  /** Replaces the count. */
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
