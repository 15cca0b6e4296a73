import { type Kind, keyOf } from '../discovery/key.ts';
import { createRows, NO_SOURCE, type Rows } from '../discovery/rows.ts';
import type { Tally } from './candidate-sink.ts';

/** By what a server tells whether its list has changed (RFC 9110, 13.1). */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

/** What a list held when it was read last. */
export interface Remembered extends Validators, Tally {
  entries: Rows;
}

/** The contents of lists that their servers can say have not changed, in bounded memory. */
export interface ListMemory {
  get(name: string): Remembered | null;
  /** Gathers what a list gives while it is read; `null` if there is no room, or the server gives it no validators. */
  gather(name: string, validators: Validators): Gathering | null;
}

export interface Gathering {
  add(kind: Kind, ip: string, port: number, country: string | null): void;
  /** The list was read whole. */
  keep(tally: Tally): void;
}

/** Validators are sent back as they came. */
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

/** The header lines that ask for a list only where it has changed since. */
export function conditionsOf({ etag, lastModified }: Validators): Record<string, string> {
  return {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
}

/** The validators of an answer, given by name in lower case. */
export function validatorsOf(headers: Readonly<Record<string, string>>): Validators {
  const short = (text: string | undefined) => (text && text.length <= MAX_VALIDATOR ? text : null);
  return { etag: short(headers.etag), lastModified: short(headers['last-modified']) };
}
