import { OwnedMap } from '../../lib/owned-map.ts';
import { createAgreement, type Witness } from './testimony.ts';

/** How long a ban lasted, on the monotonic clock. It is remembered after its end, because the next one is longer. */
interface Ban {
  until: number;
  restMs: number;
}

const REST = { firstMs: 10 * 60_000, leastMs: 1_000, mostMs: 24 * 60 * 60_000 } as const;
/** Bans that are remembered, some 25 MB. */
const MOST = 100_000;
/** What counts for all belongs to nobody. */
const ALL = '';

export function createBans(monotonic: () => number) {
  const bans = new OwnedMap<Ban>(MOST);
  const agreement = createAgreement(monotonic);

  function shutOut(owner: string, pair: string, asked: number | undefined): number {
    const now = monotonic();
    const ban = nextBan(bans.get(owner, pair), now, asked);
    bans.set(owner, pair, ban);
    return ban.until - now;
  }

  return {
    /** Shuts an exit out at a site. `asked`: for how long, in ms. Default: 10 min, doubled each time up to a day. */
    refused(witness: Witness, site: string, exit: string, asked?: number) {
      const pair = `${site} ${exit}`;
      const agreed = agreement.note(pair, witness.id, false);
      if (witness.speaksForAll) return { restMs: shutOut(ALL, pair, asked), forAll: true };
      // How long others go without it is for no single account to say.
      if (agreed) shutOut(ALL, pair, undefined);
      return { restMs: shutOut(witness.id, pair, asked), forAll: agreed };
    },

    /** Ends what an account has said of an exit, and what all go by if several accounts agree. */
    accepted(witness: Witness, site: string, exit: string) {
      const pair = `${site} ${exit}`;
      const forAll = agreement.note(pair, witness.id, true) || witness.speaksForAll;
      if (forAll) bans.delete(ALL, pair);
      bans.delete(witness.id, pair);
      return { forAll };
    },

    /** Returns the test for exits that are shut out, or `undefined` if none is. */
    at({ id }: Witness, site: string) {
      const [own, common] = [bans.of(id), bans.of(ALL)];
      if (!own && !common) return undefined;
      const now = monotonic();
      return (exit: string) => {
        const pair = `${site} ${exit}`;
        return Math.max(own?.get(pair)?.until ?? 0, common?.get(pair)?.until ?? 0) > now;
      };
    },

    /** Returns the number of exits that are shut out of any site. */
    count(): number {
      const now = monotonic();
      const exits = new Set<string>();
      for (const book of bans.all())
        for (const [pair, { until }] of book) if (until > now) exits.add(pair.slice(pair.indexOf(' ') + 1));
      return exits.size;
    },
  };
}

/**
 * Which exits a site has refused, as accounts have reported or plain requests have shown. What one account says shuts
 * an exit out for itself alone; what several say does so for all.
 */
export type Bans = ReturnType<typeof createBans>;

/** Several clients may meet the same ban, so only one that comes after the last has ended is longer. */
function nextBan(before: Ban | undefined, now: number, asked: number | undefined): Ban {
  const { firstMs, leastMs, mostMs } = REST;
  if (asked !== undefined) {
    const restMs = Math.min(mostMs, Math.max(leastMs, asked));
    return { until: now + restMs, restMs };
  }
  if (before !== undefined && now < before.until) return before;
  const isRepeated = before !== undefined && now - before.until < mostMs;
  const restMs = isRepeated ? Math.min(mostMs, Math.max(firstMs, before.restMs * 2)) : firstMs;
  return { until: now + restMs, restMs };
}
