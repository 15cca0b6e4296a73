import { inEnglish, invalidParameter } from '../../errors.ts';
import { every, type Repetition } from '../../lib/schedule.ts';
import type { StateStore } from '../../lib/state.ts';
import { createExitFilter } from '../pool/export.ts';
import type { Endpoint, ProxyFilter, ProxyRecord } from '../proxy.ts';
import type { ProxyStore } from '../store.ts';
import { type NamedTarget, sitesByName } from './ask.ts';
import { createProbes, PROBE_GAP_MS, type ProbesOptions } from './probes.ts';
import { rankFor } from './ranking.ts';
import { createSharedSites } from './shared-sites.ts';
import { proxyKeyOf, siteOf, siteOfTarget } from './site.ts';
import type { SiteFacts } from './sites.ts';
import { accountOf, type Testimony, type Witness } from './testimony.ts';

interface TargetsOptions extends Omit<ProbesOptions, 'sites'> {
  testimony: Testimony;
  store: Pick<ProxyStore, 'find' | 'lookup' | 'stream'>;
  state: Pick<StateStore, 'get' | 'set' | 'setFenced'>;
  onError: (error: unknown) => void;
}

interface RankedQuery {
  filter: ProxyFilter;
  /** The target as given by the caller: a configured name, a domain, an address or a URL. */
  target: string;
  /** Who asks; `null` for anyone. */
  witness: Witness | null;
  /** Return only the best of the proxies with the same exit address. */
  uniqueExit: boolean;
}

/** A site, and what is known about it. */
export interface TargetFacts {
  /** `null` for a site that the operator has not configured. */
  named: NamedTarget | null;
  site: string;
  facts: SiteFacts | null;
}

const EXCHANGE_MS = 5_000;
/** Maximum number of exchanges at shutdown. */
const LAST_EXCHANGES = 10;

export function createTargets(options: TargetsOptions) {
  const { testimony, named, store, onError } = options;
  const siteByName = sitesByName(named);
  const kept = new Set(siteByName.values());
  const { state, locks, now } = options;
  const { common, own } = testimony;
  const shared = [
    createSharedSites({ sites: common, state, locks, now, isKept: (site) => kept.has(site) }),
    createSharedSites({
      sites: own,
      state,
      locks,
      now,
      isKept: () => false,
      ownerOf: accountOf,
      name: 'targets:own',
    }),
  ];
  const exchange = async () => {
    for (const exchange of shared) await exchange();
  };
  const probe = createProbes({ ...options, sites: common });
  let repetitions: Repetition[] = [];
  let first: Promise<void> | undefined;

  const siteOrNull = (text = '') => siteByName.get(text.trim().toLowerCase()) ?? siteOfTarget(text);

  function siteMeant(text: string): string {
    const site = siteOrNull(text);
    if (site !== null) return site;
    const names = siteByName.size === 0 ? '' : `, or one of ${[...siteByName.keys()].join(', ')}`;
    throw invalidParameter('target', inEnglish(`target must be a domain such as example.com${names}.`));
  }

  function ranked(
    { filter, target, witness }: Omit<RankedQuery, 'uniqueExit'>,
    wanted: number,
  ): AsyncIterable<ProxyRecord[]> {
    return rankFor({ store, filter, facts: testimony.facts(witness, siteMeant(target)), wanted });
  }

  return {
    /**
     * Returns the matches, those most likely to reach the target first.
     * @throws {AppError} `invalid_parameter` if the target is invalid.
     */
    async list({
      uniqueExit,
      offset,
      limit,
      ...query
    }: RankedQuery & { offset: number; limit: number }): Promise<{ items: ProxyRecord[]; total: number }> {
      const wanted = uniqueExit ? Number.POSITIVE_INFINITY : offset + limit;
      const records = ranked(query, wanted);
      const isFirst = uniqueExit ? createExitFilter() : null;
      const items: ProxyRecord[] = [];
      let seen = 0;
      for await (const batch of records) {
        for (const record of isFirst ? batch.filter(isFirst) : batch) {
          if (seen++ >= offset && items.length < limit) items.push(record);
        }
        if (items.length >= limit && !isFirst) break;
      }
      if (isFirst) return { items, total: seen };
      const { total } = await store.find({ filter: query.filter, sort: 'dependable', offset: 0, limit: 1 });
      return { items, total };
    },

    /** Returns all matches in batches. Throws like `list`. */
    all: (query: Omit<RankedQuery, 'uniqueExit'>) => ranked(query, Number.POSITIVE_INFINITY),

    /** Records that a trusted client has tried a proxy with a target. An invalid target is ignored. */
    reported(witness: Witness, proxy: Endpoint, target: string | undefined, reached: boolean): void {
      const site = siteOrNull(target);
      if (site !== null) testimony.observe(witness, site, proxyKeyOf(proxy), reached);
    },

    /** Returns the configured sites in the order of the settings, then all others that anyone has used, by name. */
    known(): TargetFacts[] {
      const ours = named.map((target) => {
        const site = siteOf(new URL(target.url).hostname);
        return { named: target, site, facts: common.facts(site) };
      });
      const others = [...testimony.all()]
        .filter(([site]) => !kept.has(site))
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([site, facts]) => ({ named: null, site, facts }));
      return [...ours, ...others];
    },

    /** Starts to probe and to share. */
    start(): void {
      first = exchange().catch(onError);
      repetitions = [every(EXCHANGE_MS, exchange, onError)];
      if (named.length > 0) repetitions.push(every(PROBE_GAP_MS, probe, onError));
    },

    async stop(): Promise<void> {
      await first;
      await Promise.all(repetitions.map((repetition) => repetition.stop()));
      for (let left = LAST_EXCHANGES; left > 0 && (common.hasNews || own.hasNews); left--)
        await exchange().catch(onError);
    },
  };
}

/** Knows which proxies of the pool work for which sites. */
export type Targets = ReturnType<typeof createTargets>;
