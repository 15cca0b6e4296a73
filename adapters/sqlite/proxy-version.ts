import type { Database } from './database.ts';

/** How long it may take until the write of another process is noticed. */
const VERSION_MS = 20;

/** The version of the pool, which every write advances. */
export interface ProxyVersion {
  /** A read of the file costs as much as all else in the answer to a request, so that it serves for a moment. */
  read(): string;
  /** To be called in the transaction of a write. */
  advance(): void;
}

export function createProxyVersion(database: Database): ProxyVersion {
  const stored = database.prepare<{ value: number }>('SELECT value FROM proxy_version');
  const increment = database.prepare('UPDATE proxy_version SET value = value + 1');
  /** As it was read a moment ago; `null` after an own write. */
  let known: string | null = null;

  return {
    read() {
      if (known === null) {
        known = String(stored.get()?.value ?? 0);
        setTimeout(() => {
          known = null;
        }, VERSION_MS);
      }
      return known;
    },
    advance() {
      known = null;
      increment.run();
    },
  };
}
