import type { Database } from './database.ts';

/** Maximum delay until a write of another process is noticed. */
const VERSION_MS = 20;

/** The version of the pool, which every write advances. */
export interface ProxyVersion {
  /** Returns the version, cached for a moment because reading the file costs as much as the rest of a request. */
  read(): string;
  /** Must be called in the transaction of a write. */
  advance(): void;
}

export function createProxyVersion(database: Database): ProxyVersion {
  const stored = database.prepare<{ value: number }>('SELECT value FROM proxy_version');
  const increment = database.prepare('UPDATE proxy_version SET value = value + 1');
  /** The cached version; `null` after a write of this process. */
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
