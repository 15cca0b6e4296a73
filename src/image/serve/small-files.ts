/** Most images that browsers show are smaller, in bytes. */
const MAX_FILE_BYTES = 256 * 1024;
/** Of all that is kept. */
const MAX_TOTAL_BYTES = 32 * 1024 * 1024;
/** Keys that were read once; what is read again is worth keeping, what a crawler reads is not. */
const MAX_SEEN = 10_000;

type Body = Blob | ReadableStream<Uint8Array>;

/** Small files that are read again and again, in memory: sending one from there costs half of opening it. */
export interface SmallFiles {
  get(key: string): Blob | undefined;
  /** What to send instead of a whole file that was just read from the store. Rejects if it cannot be read. */
  offer(key: string, size: number, body: Body): Promise<Body>;
  /** To be called when the file is removed. */
  forget(key: string): void;
}

export function createSmallFiles(): SmallFiles {
  /** The least recently used first. */
  const kept = new Map<string, Blob>();
  const seen = new Set<string>();
  let total = 0;

  function forget(key: string): void {
    total -= kept.get(key)?.size ?? 0;
    kept.delete(key);
    seen.delete(key);
  }

  function keep(key: string, blob: Blob): void {
    forget(key);
    kept.set(key, blob);
    total += blob.size;
    for (const oldest of kept.keys()) {
      if (total <= MAX_TOTAL_BYTES) break;
      forget(oldest);
    }
  }

  return {
    get(key) {
      const blob = kept.get(key);
      if (blob) {
        kept.delete(key);
        kept.set(key, blob);
      }
      return blob;
    },

    async offer(key, size, body) {
      if (size > MAX_FILE_BYTES) return body;
      if (!seen.has(key)) {
        if (seen.size >= MAX_SEEN) seen.clear();
        seen.add(key);
        return body;
      }
      const blob = new Blob([await new Response(body).arrayBuffer()]);
      if (blob.size === size) keep(key, blob);
      return blob;
    },

    forget,
  };
}
