import { type Kind, keyOf } from '../discovery/key.ts';
import { createRows, NO_SOURCE, type Rows } from '../discovery/rows.ts';
import type { Tally } from './candidate-sink.ts';

/** What a server uses to tell whether its list has changed (RFC 9110, 13.1). */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

/** The content of a list when it was last read. */
export interface Remembered extends Validators, Tally {
  entries: Rows;
}

/** Remembers, in bounded memory, the contents of lists whose servers can say that they have not changed. */
interface ListMemory {
  get(name: string): Remembered | null;
  /**
   * Collects the entries of a list while it is read. Returns `null` if there is no room, or the server sends
   * no validators.
   */
  gather(name: string, validators: Validators): Gathering | null;
}

export interface Gathering {
  add(kind: Kind, ip: string, port: number, country: string | null): void;
  /** Keeps the entries, because the list was read to its end. */
  keep(tally: Tally): void;
}

/** Validators are sent back unchanged. */
const MAX_VALIDATOR = 512;

/** @param most entries of all lists together, 12 bytes each. */
export function createListMemory(most: number): ListMemory {
  const lists = new Map<string, Remembered>();
  let held = 0;

  function forget(name: string): void {
    held -= lists.get(name)?.entries.size ?? 0;
    lists.delete(name);
  }

  return {
    get: (name) => lists.get(name) ?? null,
    gather(name, validators) {
      forget(name);
      const { etag, lastModified } = validators;
      if (etag === null && lastModified === null) return null;
      let entries: Rows | null = createRows();
      return {
        add(kind, ip, port, country) {
          if (entries === null) return;
          if (held + entries.size >= most) entries = null;
          else entries.add({ key: keyOf(kind, ip, port), kind, ip, port, source: NO_SOURCE, country });
        },
        keep({ found, rejected }) {
          if (entries === null || found === 0 || held + entries.size > most) return;
          held += entries.size;
          lists.set(name, { etag, lastModified, found, rejected, entries });
        },
      };
    },
  };
}

/** Returns the header lines that request a list only if it has changed. */
export function conditionsOf({ etag, lastModified }: Validators): Record<string, string> {
  return {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
}

/** Returns the validators of an answer, whose header names are in lower case. */
export function validatorsOf(headers: Readonly<Record<string, string>>): Validators {
  const short = (text: string | undefined) => (text && text.length <= MAX_VALIDATOR ? text : null);
  return { etag: short(headers.etag), lastModified: short(headers['last-modified']) };
}
