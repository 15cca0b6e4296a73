import { randomInt } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import type { Target } from './exchange.ts';
import type { FileRange } from './http.ts';
import { createRemote, type Remote, type RemoteState } from './remote.ts';
import {
  confirm,
  firstUp,
  probe,
  type RemotesOptions,
  type RemotesState,
  renew,
  stateOf,
} from './remotes.ts';

/** Size of a block that is fetched directly. It is enough for thousands of questions. */
export const BLOCK_BYTES = 256 * 1024;

/** The part of a file that a proxy has to deliver. */
const PART_BYTES = { least: 512, most: 4096 } as const;

/** A file that compresses to less than this share could be guessed. */
const LEAST_ENTROPY = 0.5;

/** How long a block is used before the file is checked again, at another place. */
const BLOCK_MS = 6 * 3_600_000;

/** A part of the file that was fetched without a proxy. */
interface Block {
  from: number;
  bytes: Buffer;
  /** Size of the whole file. */
  size: number;
  /** On the monotonic clock. */
  fetchedAt: number;
}

/** The state of the witnesses. */
export interface WitnessesState {
  state: RemotesState;
  witnesses: RemoteState[];
}

/** A witness, and a part of its file that only it can deliver. */
export interface Challenge {
  witness: Witness;
  /** First and last byte of the part. */
  from: number;
  to: number;
  bytes: Buffer;
}

export interface Witness {
  readonly host: string;
  readonly remote: Remote<Block>;
}

interface WitnessesOptions {
  urls: readonly string[];
  remotes: RemotesOptions;
  /** Fetches a part of the file without a proxy. Rejects if that fails. */
  fetchPart: (target: Target, from: number, to: number) => Promise<FileRange>;
}

export function createWitnesses(options: WitnessesOptions) {
  const { fetchPart, remotes } = options;
  const witnesses = options.urls.map((url): Witness => {
    const question = (target: Target, before: Block | null) => look(target, before);
    const remote = createRemote<Block>({ ...remotes, kind: 'witness', url, question });
    return { host: remote.target.host, remote };
  });
  let turn = 0;

  /** Checks that a part of the file is unchanged, and now and then fetches another block. */
  async function look(target: Target, before: Block | null): Promise<Block> {
    const now = remotes.monotonic();
    if (before && now - before.fetchedAt < BLOCK_MS) return compare(target, before);
    const size = before?.size ?? (await fetchPart(target, 0, 0)).size;
    if (size < BLOCK_BYTES) throw new Error(`is a file of only ${size} bytes`);
    const from = randomInt(0, size - BLOCK_BYTES + 1);
    const { bytes } = await fetchPart(target, from, from + BLOCK_BYTES - 1);
    if (bytes.length !== BLOCK_BYTES) throw new Error('did not send the requested part');
    if (deflateRawSync(bytes, { level: 1 }).length < BLOCK_BYTES * LEAST_ENTROPY) {
      throw new Error('has too little entropy to prove anything');
    }
    const block = { from, bytes, size, fetchedAt: now };
    // At first the same part is fetched twice, because a file that is generated for each request is not a witness.
    await compare(target, before ?? block);
    return block;
  }

  async function compare(target: Target, block: Block): Promise<Block> {
    const offset = randomInt(0, block.bytes.length - PART_BYTES.most + 1);
    const from = block.from + offset;
    const { bytes, size } = await fetchPart(target, from, from + PART_BYTES.most - 1);
    const same = bytes.equals(block.bytes.subarray(offset, offset + PART_BYTES.most));
    if (!same || size !== block.size) throw new Error('has changed');
    return block;
  }

  function usable(avoid: string | undefined): Witness[] {
    const up = witnesses.filter(({ remote, host }) => remote.up && host !== avoid);
    const trusted = up.filter(({ remote }) => !remote.standing.isLeftOut());
    return trusted.length > 0 ? trusted : up;
  }

  return {
    /** Returns a question about a witness on another host than `avoid`, or `null` if none is available. */
    async challenge(avoid?: string): Promise<Challenge | null> {
      if (witnesses.length === 0) return null;
      renew(witnesses, remotes.monotonic(), BLOCK_MS);
      if (usable(avoid).length === 0) await firstUp(witnesses.filter(({ host }) => host !== avoid));
      const fitting = usable(avoid);
      const witness = fitting[turn++ % fitting.length];
      const block = witness?.remote.said;
      return witness && block ? challengeOf(witness, block) : null;
    },

    /**
     * Reports whether the witness is known to have worked at `since` (monotonic) or later. Asks it if that is possible
     * soon.
     */
    confirm: ({ remote }: Witness, since: number) => confirm(remote, since),
    /** Asks the witnesses that may be asked now. */
    probe: () => probe(witnesses),

    state(): WitnessesState {
      const states = witnesses.map(({ remote }) => remote.state());
      return { state: stateOf(states), witnesses: states };
    },
  };
}

/**
 * Large files that never change, on hosts that serve ranges of them over plain HTTP. A proxy that delivers a random
 * part must have asked for it: it cannot know the question beforehand, and is unlikely to hold all the files.
 */
export type Witnesses = ReturnType<typeof createWitnesses>;

function challengeOf(witness: Witness, { from, bytes }: Block): Challenge {
  const count = Math.min(bytes.length, randomInt(PART_BYTES.least, PART_BYTES.most + 1));
  const offset = randomInt(0, bytes.length - count + 1);
  const part = bytes.subarray(offset, offset + count);
  return { witness, from: from + offset, to: from + offset + count - 1, bytes: part };
}
