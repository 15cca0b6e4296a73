import { AppError, inEnglish } from '../errors.ts';
import { canonicalNetwork, createNetworkList, type NetworkList } from '../lib/address.ts';
import { createAnswerCache } from '../lib/answer-cache.ts';
import { ALIKE_BITS, distanceBetween } from '../lib/bits.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { holding, type Locks, writeHeld } from '../lib/locks.ts';
import type { Facts, Log } from '../lib/logger.ts';
import type { StateStore } from '../lib/state.ts';

/** What the administrator has blocked. Times are ms since 1970. */
interface BlockList {
  /** Addresses and networks that may only read. */
  networks: { network: string; since: number; reason: string }[];
  /** SHA-256 in hexadecimal of files that must not be stored, either as uploaded or as stored. */
  hashes: { hash: string; since: number; reason: string }[];
  /** Perceptual hashes, as 64 bits in hexadecimal, of pictures that must not be stored, nor anything similar. */
  phashes: { phash: string; since: number; reason: string }[];
}

/** What to block or unblock. */
export interface BlockTarget {
  network?: string | undefined;
  hash?: string | undefined;
  phash?: string | undefined;
}

interface BlocksOptions {
  state: StateStore;
  locks: Locks;
  now: () => number;
  clock?: Pick<Clock, 'sleep'>;
  /** What it says of blocks, `picpool restore --log` repeats. Default: nothing is logged. */
  log?: Log;
}

const KEY = 'blocks';
/** How long a copy of the server may miss what another has blocked, in ms. */
const BELIEVED_MS = 1500;
/** Some 2 MB. */
const MAX_ENTRIES = 10_000;

interface Known {
  list: BlockList;
  networks: NetworkList;
  hashes: Set<string>;
}

export function createBlocks({ state, locks, now, clock = systemClock, log = () => {} }: BlocksOptions) {
  const known = createAnswerCache<Known>({ lifeMs: BELIEVED_MS, now });

  /** What was read last: preparing the longest list takes 0.1 s. */
  let last: { text: string | null; known: Known } | null = null;

  function parsed(text: string | null): BlockList {
    // Lists from before perceptual hashes have none.
    const nothing: BlockList = { networks: [], hashes: [], phashes: [] };
    return text === null ? nothing : { ...nothing, ...(JSON.parse(text) as Partial<BlockList>) };
  }

  function prepared(list: BlockList): Known {
    return {
      list,
      networks: createNetworkList(list.networks.map(({ network }) => network)),
      hashes: new Set(list.hashes.map(({ hash }) => hash)),
    };
  }

  const current = () =>
    known.get(KEY, async () => {
      const text = await state.get(KEY);
      if (last === null || last.text !== text) last = { text, known: prepared(parsed(text)) };
      return last.known;
    });

  const change = <T>(work: (list: BlockList) => T): Promise<T> =>
    holding({ locks, name: 'blocks', clock }, async (demandHeld) => {
      const list = parsed(await state.get(KEY));
      const answer = work(list);
      if (Object.values(list).some((entries) => entries.length > MAX_ENTRIES)) {
        throw new AppError(
          'conflict',
          inEnglish(`There are already ${MAX_ENTRIES} blocks of this kind, which is the maximum.`),
        );
      }
      // Another copy may have made a change that this one has not seen.
      await writeHeld(state, KEY, list, demandHeld());
      known.set(KEY, prepared(list));
      return answer;
    });

  function drop(list: BlockList, { network, hash, phash }: BlockTarget): boolean {
    const before = sizeOf(list);
    const [address = '', length] = canonicalNetwork(network ?? '').split('/');
    // The same network has as many spellings as it has addresses.
    list.networks = list.networks.filter((one) => {
      const known = canonicalNetwork(one.network);
      return known.split('/')[1] !== length || !createNetworkList([known]).has(address);
    });
    list.hashes = list.hashes.filter((one) => one.hash !== hash);
    list.phashes = list.phashes.filter((one) => one.phash !== phash);
    return sizeOf(list) < before;
  }

  return {
    list: async () => (await current()).list,

    /**
     * Rejects with `invalid_body` for an invalid network, `conflict` if the list is full, `unavailable` if others keep
     * changing it.
     */
    async add(target: BlockTarget, reason: string): Promise<void> {
      const { network, hash, phash } = target;
      try {
        createNetworkList(network === undefined ? [] : [network]);
      } catch (error) {
        throw new AppError('invalid_body', inEnglish(`network: ${(error as Error).message}.`));
      }
      await change((list) => {
        drop(list, target);
        if (network !== undefined) list.networks.push({ network, since: now(), reason });
        if (hash !== undefined) list.hashes.push({ hash, since: now(), reason });
        if (phash !== undefined) list.phashes.push({ phash, since: now(), reason });
      });
      log('info', 'block added', factsOf(target, reason));
    },

    /** Returns false if it was not blocked. */
    async remove(target: BlockTarget): Promise<boolean> {
      const isGone = await change((list) => drop(list, target));
      if (isGone) log('info', 'block removed', factsOf(target));
      return isGone;
    },

    /** Rejects with `forbidden` for a blocked client. `peer`: a canonical address. */
    async mayWrite(peer: string): Promise<void> {
      const { networks } = await current();
      if (networks.has(peer)) throw new AppError('forbidden', 'This address was blocked by the operator.');
    },

    /** Rejects with `forbidden` for blocked content and, if its hash is known, for anything similar. */
    async mayStore(hash: string, phash?: string | null): Promise<void> {
      const { hashes, list } = await current();
      const isLike = (one: string) => distanceBetween(one, phash ?? '') <= ALIKE_BITS;
      const looksBlocked = typeof phash === 'string' && list.phashes.some((one) => isLike(one.phash));
      if (hashes.has(hash) || looksBlocked)
        throw new AppError('forbidden', 'This picture was blocked by the operator.');
    },
  };
}

/** Blocks in the state store. A change reaches other copies of the server within seconds. */
export type Blocks = ReturnType<typeof createBlocks>;

/** The network is an address of a client, which `LOG_ADDRESSES` can hide. */
function factsOf({ network, ...hashes }: BlockTarget, reason?: string): Facts {
  return { ...(network !== undefined && { peer: network }), ...hashes, ...(reason && { reason }) };
}

function sizeOf(list: BlockList): number {
  return Object.values(list).reduce((sum, entries) => sum + entries.length, 0);
}
