import { parseIpv4 } from '../../lib/address.ts';
import { type Endpoint, PROTOCOLS, type Protocol } from '../proxy.ts';
import { createSeen } from '../sources/seen.ts';

/** A proxy that is up for a check. `source` is an index into the sources of the refresh; -1 for known proxies. */
export interface Turn {
  endpoint: Endpoint;
  rank: Rank | 'new';
  source: number;
  country: string | null;
}

/** `none`: not now. */
export type Rank = 'good' | 'due' | 'dead' | 'none';

/** What one list named first. IPv4 endpoints are packed into one number each: a million take 8 MB. */
interface Named {
  packed: number[];
  countries: (string | null)[];
  others: { endpoint: Endpoint; country: string | null }[];
}

/** The proxies of one refresh that are up for a check: each endpoint once, however often it is named. */
export interface Candidates {
  /** A proxy of the pool, which no list makes new. `rank` says whether and when it has its turn. */
  addKnown(endpoint: Endpoint, rank: Rank): void;
  /** An entry of a list. True when neither the pool nor a list before had it. */
  add(source: number, protocol: Protocol, ip: string, port: number, country: string | null): boolean;
  /** How many are up for a check. */
  readonly size: number;
  /**
   * Good ones, then new ones, lists with a higher `weight` first (those of equal weight in turns), then dead ones that
   * are due, then the rest of the dead.
   */
  turns(weight: (source: number) => number): Generator<Turn>;
}

/** More than all public lists together name; beyond it entries are dropped. */
const MOST = 2_000_000;

export function createCandidates(sources: number): Candidates {
  const seen = createSeen();
  const known: Record<Rank, Endpoint[]> = { good: [], due: [], dead: [], none: [] };
  const named: Named[] = Array.from({ length: sources }, () => ({ packed: [], countries: [], others: [] }));
  let fresh = 0;

  function* namedBy(source: number): Generator<Turn> {
    const { packed, countries, others } = named[source] ?? { packed: [], countries: [], others: [] };
    for (const [index, number] of packed.entries()) {
      yield { endpoint: unpack(number), rank: 'new', source, country: countries[index] ?? null };
    }
    for (const { endpoint, country } of others) yield { endpoint, rank: 'new', source, country };
  }

  function* knownOnes(rank: Rank): Generator<Turn> {
    for (const endpoint of known[rank]) yield { endpoint, rank, source: -1, country: null };
  }

  return {
    addKnown({ protocol, ip, port }, rank) {
      seen.add(protocol, ip, port);
      if (rank !== 'none') known[rank].push({ protocol, ip, port });
    },
    add(source, protocol, ip, port, country) {
      const list = named[source];
      if (!list || fresh >= MOST || !seen.add(protocol, ip, port)) return false;
      const address = parseIpv4(ip);
      if (address < 0) list.others.push({ endpoint: { protocol, ip, port }, country });
      else {
        list.packed.push((address * 65_536 + port) * PROTOCOLS.length + PROTOCOLS.indexOf(protocol));
        list.countries.push(country);
      }
      fresh++;
      return true;
    },
    get size() {
      return known.good.length + fresh + known.due.length + known.dead.length;
    },
    *turns(weight) {
      yield* knownOnes('good');
      const groups = Map.groupBy(named.keys(), weight);
      for (const [, group] of [...groups].sort(([a], [b]) => b - a)) yield* inTurns(group.map(namedBy));
      yield* knownOnes('due');
      yield* knownOnes('dead');
    },
  };
}

/** One of each in turn, until all have ended. */
function* inTurns<T>(iterators: Iterator<T>[]): Generator<T> {
  let left = iterators;
  while (left.length > 0) {
    const going: Iterator<T>[] = [];
    for (const iterator of left) {
      const next = iterator.next();
      if (next.done) continue;
      going.push(iterator);
      yield next.value;
    }
    left = going;
  }
}

function unpack(packed: number): Endpoint {
  const protocol = PROTOCOLS[packed % PROTOCOLS.length] ?? 'http';
  const rest = Math.floor(packed / PROTOCOLS.length);
  const address = Math.floor(rest / 65_536);
  const ip = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
  return { protocol, ip, port: rest % 65_536 };
}
