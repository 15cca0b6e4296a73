import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Stores } from '../../adapters/open.ts';
import { ID_PATTERN } from '../image/records/ids.ts';
import { createReviews } from '../image/review/reviews.ts';
import { systemClock } from '../lib/clock.ts';
import { parseForeignJson } from '../lib/foreign-json.ts';
import { createBlocks } from '../moderation/blocks.ts';
import { CommandError } from './exit.ts';

/** A line of the log as JSON, also as Kubernetes keeps it, with time and stream in front. */
const LINE = /^(?:\S+ std(?:out|err) F )?(\{"time":.*\})$/;
/** What may be in a block. */
const BLOCKED = { network: /^[\da-f.:/]{2,43}$/i, hash: /^[\da-f]{64}$/, phash: /^[\da-f]{16}$/ };

type Block = Partial<Record<keyof typeof BLOCKED, string>>;

/** What the log of a server says about deletions and blocks. */
export interface Told {
  /** IDs of images that were removed. */
  removed: Set<string>;
  /** The latest about each block, by its JSON; `null`: it was lifted. */
  blocks: Map<string, { block: Block; reason: string | null }>;
}

/**
 * Reads logs that were written with `LOG_FORMAT=json`, oldest first. Other lines are skipped.
 * @throws {CommandError} if one cannot be read.
 */
export async function readServerLogs(paths: readonly string[]): Promise<Told> {
  const told: Told = { removed: new Set(), blocks: new Map() };
  for (const path of paths) {
    try {
      for await (const line of createInterface({ input: createReadStream(path) })) note(line, told);
    } catch (error) {
      throw new CommandError(`The log ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
    }
  }
  return told;
}

function note(line: string, { removed, blocks }: Told): void {
  const [, json] = LINE.exec(line.trim()) ?? [];
  // Parsing each line of a large log would take minutes.
  if (json === undefined || !/"message":"(?:image |block )/.test(json)) return;
  const facts = parsed(json);
  const { message, id, reason } = facts;
  if (message === 'image removed') {
    if (typeof id === 'string' && ID_PATTERN.test(id)) removed.add(id);
  } else if (message === 'block added' || message === 'block removed') {
    for (const [name, form] of Object.entries(BLOCKED)) {
      const value = facts[name === 'network' ? 'peer' : name];
      if (typeof value !== 'string' || !form.test(value)) continue;
      const block = { [name]: value };
      const why = typeof reason === 'string' ? reason.slice(0, 200) : '';
      blocks.set(JSON.stringify(block), { block, reason: message === 'block added' ? why : null });
    }
  }
}

function parsed(json: string): Record<string, unknown> {
  try {
    return parseForeignJson(json) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Repeats in the stores what the log says. Returns how many images it removed, and how many blocks it added or lifted. */
export async function replay(
  { removed, blocks }: Told,
  { images, state, locks, blobs }: Stores,
): Promise<{ images: number; blocks: number }> {
  const discard = async () => {};
  const reviews = createReviews({ state, locks, blobs, images, clock: systemClock, onStored() {}, discard });
  let gone = 0;
  for (const id of removed) {
    const wasStored = await images.remove(id);
    if ((await reviews.withdraw(id)) || wasStored) gone++;
  }
  const list = createBlocks({ state, locks, now: Date.now });
  for (const { block, reason } of blocks.values()) {
    if (reason === null) await list.remove(block);
    else await list.add(block, reason);
  }
  return { images: gone, blocks: blocks.size };
}
