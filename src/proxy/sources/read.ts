import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { readableBytes } from '../../lib/format.ts';
import type { SafeFetch } from '../../lib/safe-fetch.ts';
import { SafeFetchError } from '../../lib/safe-fetch-errors.ts';
import { breathe } from '../../lib/schedule.ts';
import { createTextDecoder } from '../../lib/text-pieces.ts';
import { type Kind, keyOf } from '../discovery/key.ts';
import { createRows, NO_SOURCE, type Rows } from '../discovery/rows.ts';
import type { CandidateSinkOptions, OnCandidate, Tally } from './candidate-sink.ts';
import { createParser, toldFormat } from './parser.ts';
import { NOTHING_USABLE, type Parser, type Source, type SourceReport } from './source.ts';

interface ReadOptions extends Pick<CandidateSinkOptions, 'onPaid'> {
  signal: AbortSignal;
  onCandidate: OnCandidate;
}

/**
 * Reads one source to its end and passes each usable entry to `onCandidate`. Faults of the source are part of
 * the report; the promise rejects only if the signal aborts, with its reason.
 */
export type ReadSource = (source: Source, options: ReadOptions) => Promise<SourceReport>;

interface SourceReaderDeps {
  fetch: SafeFetch;
  /** Returns the content of a `file:` URL in chunks. */
  readFile?: (url: URL) => AsyncIterable<Uint8Array>;
  /** Accept private and loopback addresses. For tests only. */
  allowPrivate: boolean;
  /** Maximum size in bytes of one list. The largest known list is 13 MB. */
  maxBytes?: number;
  /** Time limit of one list, in ms. */
  timeoutMs?: number;
  /** Maximum number of remembered entries of all lists together, which avoids transferring unchanged lists again. */
  mostRemembered?: number;
}

/** Number of characters parsed at a time, which takes a millisecond, or some 40 if each second one ends a line of CSV. */
const PIECE = 16_384;
/** Other work waits at most about this long. */
const YIELD_AFTER_MS = 8;
/** How long a list is replayed, because some caches say for ever that nothing has changed. */
const REPLAYED_MS = 24 * 3_600_000;
/** Number of entries replayed without a pause, which takes some milliseconds. */
const REPLAYED = 10_000;

export function createSourceReader({
  fetch,
  readFile = openFile,
  allowPrivate,
  maxBytes = 20_000_000,
  timeoutMs = 30_000,
  mostRemembered = 1_000_000,
}: SourceReaderDeps): ReadSource {
  const memory = createListMemory(mostRemembered);

  async function* piecesOf(url: URL): AsyncGenerator<Uint8Array> {
    let left = maxBytes;
    for await (const chunk of readFile(url)) {
      if (chunk.length > left) {
        yield chunk.subarray(0, left);
        throw new Error(`has more than ${readableBytes(maxBytes)}`);
      }
      left -= chunk.length;
      yield chunk;
    }
  }

  async function open({ url }: Source, known: Remembered | null, signal: AbortSignal): Promise<Opened> {
    if (isFile(url)) return { body: piecesOf(new URL(url)), validators: NO_VALIDATORS };
    const headers = known === null ? {} : conditionsOf(known);
    const response = await fetch(url, { timeoutMs, maxBytes, signal, headers });
    const { status } = response;
    if (status === 200 || status === 203) {
      return { body: response.body, validators: validatorsOf(response.headers) };
    }
    response.discard();
    if (status === 304 && known !== null) return known;
    // A server in front of the list sends these because of too many requests.
    const isRefusal = [403, 407, 429].includes(status) || status > 499;
    throw new ListError(`answered ${status}`, !isRefusal);
  }

  return async (source, { signal, onCandidate, onPaid }) => {
    const { name, url, format, protocol, logins = false } = source;
    // Entries with logins are not kept in memory.
    const known = logins ? null : memory.get(name);
    let gathering: Gathering | null = null;
    let paid = 0;
    const parser = createParser(format, {
      protocol,
      logins,
      allowPrivate,
      onPaid(entry) {
        paid++;
        onPaid?.(entry);
      },
      onCandidate(kind, ip, port, country, login) {
        gathering?.add(kind, ip, port, country);
        onCandidate(kind, ip, port, country, login);
      },
    });
    const feed = createFeed(parser);
    let error: string | null = null;
    let reached = true;
    try {
      const opened = await open(source, known, signal);
      if ('entries' in opened) return await replay(opened, { signal, onCandidate });
      if (!logins) gathering = memory.gather(name, opened.validators);
      for await (const chunk of opened.body) {
        await feed.push(chunk);
        signal.throwIfAborted();
      }
    } catch (fault) {
      signal.throwIfAborted();
      error = fault instanceof Error ? fault.message : String(fault);
      const isTooLarge = fault instanceof SafeFetchError && fault.kind === 'too_large';
      reached = fault instanceof ListError ? fault.reached : isTooLarge || isFile(url);
    }
    await feed.end(error === null);
    signal.throwIfAborted();
    const { rejected } = parser.tally;
    const found = parser.tally.found - paid;
    if (error === null) gathering?.keep({ found, rejected });
    const isPage = format !== 'html' && toldFormat(feed.opening) === 'html';
    if (found + paid === 0) {
      if (isPage) reached = false;
      error ??= isPage ? 'an HTML page instead of a list' : NOTHING_USABLE;
    }
    return { found, ...(paid > 0 && { paid }), rejected, bytes: feed.bytes, error, reached };
  };
}

/** An opened list, and the validators that its server sent, or what it had before if it has not changed. */
type Opened = { body: AsyncIterable<Uint8Array>; validators: Validators } | Remembered;

const NO_VALIDATORS: Validators = { etag: null, lastModified: null };
const isFile = (url: string) => url.startsWith('file:');

/** Passes on the entries of a list as if it had been read again. */
async function replay(
  { entries, found, rejected }: Remembered,
  { signal, onCandidate }: ReadOptions,
): Promise<SourceReport> {
  for (let index = 0; index < entries.size; index++) {
    if (index % REPLAYED === REPLAYED - 1) {
      await breathe();
      signal.throwIfAborted();
    }
    const { kind, ip, port, country } = entries.entryAt(index);
    onCandidate(kind, ip, port, country, null);
  }
  return { found, rejected, bytes: 0, error: null, reached: true };
}

/** The list's server answered, but did not deliver the list. */
class ListError extends Error {
  readonly reached: boolean;
  constructor(message: string, reached: boolean) {
    super(message);
    this.reached = reached;
  }
}

/**
 * Decodes bytes and passes them to the parser in chunks of one size. Small chunks are joined, because a parser that
 * waits for an end scans its text again with each; large ones are cut, and other work runs in between.
 */
function createFeed(parser: Parser) {
  const decode = createTextDecoder();
  let gathered = '';
  let since = performance.now();
  const feed = {
    bytes: 0,
    /** The first characters of the list. */
    opening: '',
    async push(chunk: Uint8Array): Promise<void> {
      feed.bytes += chunk.length;
      for (let start = 0; start < chunk.length; start += PIECE) {
        gathered += decode(chunk.subarray(start, start + PIECE));
        if (gathered.length >= PIECE) await flush();
      }
    },
    /** `isWhole`: otherwise what was cut off at the end is dropped, because `:80` may be the beginning of `:8080`. */
    async end(isWhole: boolean): Promise<void> {
      gathered += decode();
      await flush();
      if (isWhole) parser.end();
    },
  };

  async function flush(): Promise<void> {
    if (feed.opening === '') feed.opening = gathered.slice(0, 256);
    parser.push(gathered);
    gathered = '';
    if (performance.now() - since < YIELD_AFTER_MS) return;
    await breathe();
    since = performance.now();
  }

  return feed;
}

async function* openFile(url: URL): AsyncGenerator<Uint8Array> {
  const found = await stat(url).catch(() => null);
  // A device or a pipe may never end.
  if (!found?.isFile()) throw new Error('is not a readable file');
  yield* createReadStream(url);
}

/** What a server uses to tell whether its list has changed (RFC 9110, 13.1). */
interface Validators {
  etag: string | null;
  lastModified: string | null;
}

/** The content of a list when it was last read. */
interface Remembered extends Validators, Tally {
  /** On the monotonic clock. */
  readAt: number;
  entries: Rows;
}

interface Gathering {
  add(kind: Kind, ip: string, port: number, country: string | null): void;
  /** Keeps the entries, because the list was read to its end. */
  keep(tally: Tally): void;
}

/** Validators are sent back unchanged. */
const MAX_VALIDATOR = 512;

/**
 * Remembers, in bounded memory, the contents of lists whose servers can say that they have not changed.
 * @param most entries of all lists together, 12 bytes each.
 */
function createListMemory(most: number) {
  const lists = new Map<string, Remembered>();
  let held = 0;

  function forget(name: string): void {
    held -= lists.get(name)?.entries.size ?? 0;
    lists.delete(name);
  }

  return {
    get(name: string): Remembered | null {
      const known = lists.get(name) ?? null;
      return known && performance.now() - known.readAt < REPLAYED_MS ? known : null;
    },
    /**
     * Collects the entries of a list while it is read. Returns `null` if there is no room, or the server sends no
     * validators.
     */
    gather(name: string, validators: Validators): Gathering | null {
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
          lists.set(name, { etag, lastModified, found, rejected, entries, readAt: performance.now() });
        },
      };
    },
  };
}

/** Returns the header lines that request a list only if it has changed. */
function conditionsOf({ etag, lastModified }: Validators): Record<string, string> {
  return {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
}

/**
 * Returns the validators of an answer, whose header names are in lower case. Without a length or chunks nobody can tell
 * whether the list is whole, so it must not be remembered.
 */
function validatorsOf(headers: Readonly<Record<string, string>>): Validators {
  if (!headers['content-length'] && !headers['transfer-encoding']) return NO_VALIDATORS;
  const short = (text: string | undefined) => (text && text.length <= MAX_VALIDATOR ? text : null);
  return { etag: short(headers.etag), lastModified: short(headers['last-modified']) };
}
