import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { readableBytes } from '../../lib/readable-bytes.ts';
import type { SafeFetch } from '../../lib/safe-fetch.ts';
import { breathe } from '../../lib/schedule.ts';
import type { OnCandidate } from './candidate-sink.ts';
import {
  conditionsOf,
  createListMemory,
  type Gathering,
  type Remembered,
  type Validators,
  validatorsOf,
} from './memory.ts';
import { createParser } from './parser.ts';
import type { Parser } from './parsing.ts';
import type { Source, SourceReport } from './source.ts';
import { toldFormat } from './told-format.ts';

export interface ReadOptions {
  signal: AbortSignal;
  onCandidate: OnCandidate;
}

/**
 * Reads one source to its end and hands each usable entry to `onCandidate`. Whatever is wrong with the source stands
 * in the report; the promise rejects only when the signal aborts, with its reason.
 */
export type ReadSource = (source: Source, options: ReadOptions) => Promise<SourceReport>;

export interface SourceReaderDeps {
  fetch: SafeFetch;
  /** The content of a `file:` URL, piece by piece. */
  readFile?: (url: URL) => AsyncIterable<Uint8Array>;
  /** Takes private and loopback addresses too. For tests only. */
  allowPrivate: boolean;
  /** Maximum size in bytes of one list. The largest known list has 13 MB. */
  maxBytes?: number;
  /** Time limit of one list, in ms. */
  timeoutMs?: number;
  /** Maximum number of entries of all lists that are remembered, so that what has not changed need not be sent again. */
  mostRemembered?: number;
}

/** Text that is parsed in one go, in characters: 1 to 3 ms of work. */
const PIECE = 65_536;
/** Other work waits at most about this long. */
const YIELD_AFTER_MS = 8;
/** Entries that are handed in again in a row: some milliseconds. */
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
    if (status >= 200 && status <= 299) {
      return { body: response.body, validators: validatorsOf(response.headers) };
    }
    response.discard();
    if (status === 304 && known !== null) return 'unchanged';
    // Such refusals come from a server in front of the list, and are about too many requests.
    const isRefusal = [403, 407, 429].includes(status) || status > 499;
    throw new ListError(`answered ${status}`, !isRefusal);
  }

  return async (source, { signal, onCandidate }) => {
    const { name, url, format, protocol, logins = false } = source;
    // What holds logins is held nowhere else.
    const known = logins ? null : memory.get(name);
    let gathering: Gathering | null = null;
    const parser = createParser(format, {
      protocol,
      logins,
      allowPrivate,
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
      if (opened === 'unchanged' && known) return await replay(known, { signal, onCandidate });
      if (opened === 'unchanged') throw new Error('answered 304 though it was asked for the whole list');
      if (!logins) gathering = memory.gather(name, opened.validators);
      for await (const chunk of opened.body) {
        await feed.push(chunk);
        signal.throwIfAborted();
      }
    } catch (fault) {
      signal.throwIfAborted();
      error = fault instanceof Error ? fault.message : String(fault);
      reached = fault instanceof ListError ? fault.reached : isFile(url);
    }
    await feed.end();
    signal.throwIfAborted();
    const { found, rejected } = parser.tally;
    if (error === null) gathering?.keep({ found, rejected });
    if (found === 0 && isPage(source, feed.opening)) reached = false;
    if (found === 0) error ??= nothingFound(source, feed.opening);
    return { found, rejected, bytes: feed.bytes, error, reached };
  };
}

/** A list that can be read, and by what its server will tell whether it has changed. */
type Opened = { body: AsyncIterable<Uint8Array>; validators: Validators } | 'unchanged';

const NO_VALIDATORS: Validators = { etag: null, lastModified: null };
const isFile = (url: string) => url.startsWith('file:');

/** Hands in what a list held, as if it had been read again. */
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

/** A list that could be asked for, but was not given. */
class ListError extends Error {
  readonly reached: boolean;
  constructor(message: string, reached: boolean) {
    super(message);
    this.reached = reached;
  }
}

function isPage({ format }: Source, opening: string): boolean {
  return format !== 'html' && toldFormat(opening) === 'html';
}

function nothingFound(source: Source, opening: string): string {
  if (isPage(source, opening)) return 'an HTML page instead of a list';
  return 'nothing usable in it';
}

/**
 * Decodes bytes and gives them to the parser in pieces of one size: many small ones are gathered (a parser that
 * waits for an end looks through its text again with each), a large one is cut, and between pieces other work runs.
 */
function createFeed(parser: Parser) {
  const decoder = new TextDecoder();
  let gathered = '';
  let since = performance.now();
  const feed = {
    bytes: 0,
    /** The first characters of the list. */
    opening: '',
    async push(chunk: Uint8Array): Promise<void> {
      feed.bytes += chunk.length;
      for (let start = 0; start < chunk.length; start += PIECE) {
        gathered += decoder.decode(chunk.subarray(start, start + PIECE), { stream: true });
        if (gathered.length >= PIECE) await flush();
      }
    },
    async end(): Promise<void> {
      gathered += decoder.decode();
      await flush();
      parser.end();
    },
  };

  async function flush(): Promise<void> {
    if (feed.opening === '') feed.opening = gathered.slice(0, 256);
    parser.push(gathered);
    gathered = '';
    if (performance.now() - since < YIELD_AFTER_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  }

  return feed;
}

async function* openFile(url: URL): AsyncGenerator<Uint8Array> {
  const found = await stat(url).catch(() => null);
  // A device or a pipe need never end.
  if (!found?.isFile()) throw new Error('is not a readable file');
  yield* createReadStream(url);
}
