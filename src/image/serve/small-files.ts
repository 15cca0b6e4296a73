/** Maximum size in bytes of a file. Most images that browsers show are smaller. */
const MAX_FILE_BYTES = 256 * 1024;
/** Maximum size of all files together. */
const MAX_TOTAL_BYTES = 32 * 1024 * 1024;
/**
 * Number of keys remembered after a first read. A file that is read twice is worth keeping; one that a crawler reads
 * is not.
 */
const MAX_SEEN = 10_000;

export type Body = Blob | ReadableStream<Uint8Array>;

/** Caches small files that are read repeatedly in memory: sending one from there costs half as much as opening it. */
export function createSmallFiles() {
  /** In order of use, the least recent first. */
  const kept = new Map<string, Blob>();
  const seen = new Set<string>();
  let total = 0;

  /** Must be called when the file is removed. */
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
    get(key: string): Blob | undefined {
      const blob = kept.get(key);
      if (blob) {
        kept.delete(key);
        kept.set(key, blob);
      }
      return blob;
    },

    /** Returns what to send instead of a whole file that was just read from the store. Rejects if it cannot be read. */
    async offer(key: string, size: number, body: Body): Promise<Body> {
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
