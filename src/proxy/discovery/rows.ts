import { endpointOf, type Kind } from './key.ts';

/** An entry of a list that may be checked. */
export interface Entry {
  key: number;
  kind: Kind;
  ip: string;
  port: number;
  /** Index of the list, or `NO_SOURCE`. */
  source: number;
  country: string | null;
}

/** The source of an entry that no list named. */
export const NO_SOURCE = 65_535;

export function createRows(capacity = 1024) {
  let keys = new Float64Array(capacity);
  let sources = new Uint16Array(capacity);
  let countries = new Uint16Array(capacity);
  /** IPv6 entries, because their keys are hashes. */
  const whole = new Map<number, Entry>();
  let size = 0;

  function grow(): void {
    const [oldKeys, oldSources, oldCountries] = [keys, sources, countries];
    keys = new Float64Array(size * 2);
    sources = new Uint16Array(size * 2);
    countries = new Uint16Array(size * 2);
    keys.set(oldKeys);
    sources.set(oldSources);
    countries.set(oldCountries);
  }

  return {
    get size(): number {
      return size;
    },
    add(entry: Entry): void {
      if (size === keys.length) grow();
      keys[size] = entry.key;
      sources[size] = entry.source;
      countries[size] = packCountry(entry.country);
      if (endpointOf(entry.key) === null) whole.set(entry.key, { ...entry });
      size++;
    },
    keyAt: (index: number) => keys[index] ?? 0,
    sourceAt: (index: number) => sources[index] ?? 0,
    entryAt(index: number): Entry {
      const key = keys[index] ?? 0;
      const endpoint = endpointOf(key) ?? whole.get(key) ?? { kind: 'any' as const, ip: '', port: 0 };
      const { kind, ip, port } = endpoint;
      return {
        key,
        kind,
        ip,
        port,
        source: sources[index] ?? 0,
        country: unpackCountry(countries[index] ?? 0),
      };
    },
    /** Keeps only the rows whose keys `wanted` accepts. */
    keep(wanted: (key: number) => boolean): void {
      let kept = 0;
      for (let index = 0; index < size; index++) {
        const key = keys[index] ?? 0;
        if (!wanted(key)) {
          whole.delete(key);
          continue;
        }
        keys[kept] = key;
        sources[kept] = sources[index] ?? 0;
        countries[kept] = countries[index] ?? 0;
        kept++;
      }
      size = kept;
    },
  };
}

/** Entries of lists, 12 bytes each. */
export type Rows = ReturnType<typeof createRows>;

/** Packs two upper-case letters into a number; 0 means none. */
function packCountry(code: string | null): number {
  return code === null ? 0 : (code.charCodeAt(0) << 8) | code.charCodeAt(1);
}

function unpackCountry(code: number): string | null {
  return code === 0 ? null : String.fromCharCode(code >> 8, code & 255);
}
