import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Stores } from '../../adapters/open.ts';
import { createTokens } from '../access/tokens.ts';
import { ID_PATTERN } from '../image/records/ids.ts';
import { createReviews } from '../image/review/reviews.ts';
import { createNetworkList } from '../lib/address.ts';
import { systemClock } from '../lib/clock.ts';
import { foreignRecord } from '../lib/foreign-json.ts';
import { createBlocks } from '../moderation/blocks.ts';
import { CommandError, usageError } from './exit.ts';

/**
 * A line of the log as JSON, also as Kubernetes keeps it, with time and stream in front. A log that has only warnings
 * and errors tells nothing.
 */
const LINE =
  /^(?:\S+ std(?:out|err) F )?(\{"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)","level":"(?:debug|info)","message":".*\})$/;
/** A line of the audit log. */
const ACT = /^\{"id":"[\w-]{1,40}","time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)","what":"[\w.]+".*\}$/;
/** Acts after which an image or album is gone. */
const DELETING = new Set(['image.delete', 'album.delete', 'review.block']);
/** What may be in a block. */
const BLOCKED = {
  network: isNetwork,
  hash: (text: string) => /^[\da-f]{64}$/.test(text),
  phash: (text: string) => /^[\da-f]{16}$/.test(text),
};

/** About one token. */
const MOST_ACTS = 500;

type Block = Partial<Record<keyof typeof BLOCKED, string>>;

/** What the log of a server says about deletions and blocks. */
export interface Told {
  removed: Set<string>;
  /** IDs of albums that a moderator removed. */
  albums: Set<string>;
  /** Names of tokens that were revoked, by the IDs of the acts. */
  revoked: Map<string, string>;
  /** The latest about each block, by its JSON; `null`: it was lifted. */
  blocks: Map<string, { block: Block; reason: string | null; time: string }>;
  /** Blocks that cannot be told, because `LOG_ADDRESSES` hides the network, by what is left of them. */
  hidden: Set<string>;
  /** When the first and the last line were written, as ISO 8601. */
  first: string;
  last: string;
}

/**
 * Reads logs that were written with `LOG_FORMAT=json`, oldest first. Other lines are skipped, and what happened before
 * `since`, in ISO 8601: all that follows a later line counts, because the clock may have been set back.
 * @throws {CommandError} if one cannot be read, or has no line of a server, or if all lines are from before.
 */
export async function readServerLogs(paths: readonly string[], since: string): Promise<Told> {
  const told: Told = {
    ...{ removed: new Set(), albums: new Set(), revoked: new Map(), blocks: new Map() },
    ...{ hidden: new Set(), first: '9', last: '' },
  };
  /** By their IDs. */
  const acts = new Map<unknown, Record<string, unknown>>();
  const before = { line: since, act: since };
  for (const path of paths) {
    let lines = 0;
    try {
      for await (const line of createInterface({ input: createReadStream(path) }))
        if (note(line, before, told, acts)) lines++;
    } catch (error) {
      throw new CommandError(`The log ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
    }
    if (lines === 0) {
      throw usageError(`${path} has no line of a server with LOG_FORMAT=json and LOG_LEVEL=info.`);
    }
  }
  if (paths.length > 0 && told.last < since)
    throw usageError(`The logs end ${told.last}, before the backup. Was a clock behind? Add an older log.`);
  // A picture that was not found had been deleted before.
  const wasGone = (of: unknown) => acts.get(of)?.what === 'image.delete';
  for (const { what, of, why } of [...acts.values()])
    if (what === 'refused' && !(why === 'not_found' && wasGone(of))) acts.delete(of);
  for (const act of acts.values()) noteAct(act, told);
  // In the order in which they were made, because two may spell one network.
  const blocks = [...told.blocks].sort(([, one], [, other]) => one.time.localeCompare(other.time));
  return { ...told, blocks: new Map(blocks) };
}

/**
 * Reports whether a server wrote the line. Acts are only collected: a later line may say that one was refused. `before`:
 * the time until which lines are skipped; none from the first one on that is not.
 */
function note(
  line: string,
  before: { line: string; act: string },
  told: Told,
  acts: Map<unknown, Record<string, unknown>>,
): boolean {
  const text = line.trim();
  const act = ACT.exec(text);
  const [, json, time = ''] = act === null ? (LINE.exec(text) ?? []) : ['', text, act[1]];
  if (json === undefined) return false;
  if (time < told.first) told.first = time;
  if (time > told.last) told.last = time;
  const kind = act === null ? 'line' : 'act';
  if (time < before[kind]) return true;
  before[kind] = '';
  // Parsing each line of a large log would take minutes.
  const isTelling = act !== null || /"message":"(?:image |block )/.test(json);
  const facts = isTelling ? foreignRecord(json) : null;
  if (facts === null) return true;
  const { message, id, reason, peer: network, hash, phash } = facts;
  if (act !== null) acts.set(id, facts);
  else if (message === 'image removed') {
    if (typeof id === 'string' && ID_PATTERN.test(id)) told.removed.add(id);
  } else if (message === 'block added' || message === 'block removed') {
    const values = { network, hash, phash };
    if (Object.values(values).every((value) => value === undefined)) told.hidden.add(json);
    for (const [name, value] of Object.entries(values)) {
      if (value !== undefined)
        noteBlock({ name, value, reason: message === 'block added' ? (reason ?? '') : null, time }, told);
    }
  }
  return true;
}

/** `reason`: `null` if the block was lifted. Lines may be told late, so their times decide. */
function noteBlock(
  { name, value, reason, time }: { name: string; value: unknown; reason: unknown; time: string },
  told: Told,
): void {
  if (typeof value !== 'string' || !Object.hasOwn(BLOCKED, name) || !BLOCKED[name as keyof Block](value)) {
    told.hidden.add(`${time} ${value}`);
    return;
  }
  const block = { [name]: value };
  const why = typeof reason === 'string' ? reason.slice(0, 200) : '';
  const key = JSON.stringify(block);
  if ((told.blocks.get(key)?.time ?? '') > time) return;
  told.blocks.set(key, { block, reason: reason === null ? null : why, time });
}

function noteAct({ id, what, subject, why, verdict, time }: Record<string, unknown>, told: Told): void {
  // Tokens of older versions have spaces in their names.
  const [, kind = '', value = ''] = /^(\S+) (.+)$/.exec(String(subject)) ?? [];
  if (what === 'block.add' || what === 'block.remove') {
    noteBlock(
      { name: kind, value, reason: what === 'block.add' ? (why ?? '') : null, time: String(time) },
      told,
    );
  } else if (what === 'token.revoke') {
    told.revoked.set(String(id), value);
  } else if (DELETING.has(String(what)) || (what === 'report.decide' && verdict === 'delete')) {
    if (ID_PATTERN.test(value)) (kind === 'album' ? told.albums : told.removed).add(value);
  }
}

function isNetwork(text: string): boolean {
  try {
    createNetworkList([text]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Repeats in the stores what the log says. Returns how many images it removed, how many tokens it revoked, and how many
 * blocks it added or lifted.
 */
export async function replay(
  { removed, albums, revoked, blocks }: Told,
  { images, albums: stored, state, locks, blobs, audit }: Stores,
): Promise<{ images: number; tokens: number; blocks: number }> {
  const discard = async () => {};
  const reviews = createReviews({ state, locks, blobs, images, clock: systemClock, onStored() {}, discard });
  let gone = 0;
  for (const id of removed) {
    const wasStored = await images.remove(id);
    if ((await reviews.withdraw(id)) || wasStored) gone++;
  }
  for (const id of albums) await stored.remove(id);
  const tokens = createTokens({ state, random: randomBytes, now: Date.now });
  let leaked = 0;
  for (const [id, name] of revoked) {
    const known = await audit.list({ subject: `token ${name}`, limit: MOST_ACTS });
    // What was revoked before the backup is not in it: one that is has the same name.
    if (!known.some((act) => act.id === id) && (await tokens.revoke(name))) leaked++;
  }
  const list = createBlocks({ state, locks, now: Date.now });
  for (const { block, reason } of blocks.values()) {
    if (reason === null) await list.remove(block);
    else await list.add(block, reason);
  }
  return { images: gone, tokens: leaked, blocks: blocks.size };
}
