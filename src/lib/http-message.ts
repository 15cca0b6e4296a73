/** Says what is wrong with a message. `isTooLarge`: only its size. */
export class MessageFault extends Error {
  readonly isTooLarge: boolean;

  constructor(sentence: string, isTooLarge = false) {
    super(sentence);
    this.name = 'MessageFault';
    this.isTooLarge = isTooLarge;
  }
}

/** Maximum size in bytes of the head of a request, or of all heads of an answer. Servers commonly use 16 KB. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Maximum size of one of its lines. */
const MAX_LINE_BYTES = 16 * 1024;
const MAX_SIZE_LINE_BYTES = 256;
const MAX_TRAILER_BYTES = 8 * 1024;

const SPACE = 32;
const TAB = 9;
const HEAD_END = Buffer.from('\r\n\r\n');
const NAMED = /^[!#$%&'*+.^_`|~\w-]+:/;
const BREAK = /[\r\n\0]/;
/** Other control characters, which some readers refuse. */
const CONTROLS = /[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Start line and header fields of a message, in order. */
export interface Head {
  line: string;
  fields: [name: string, value: string][];
  /** Size in bytes, including the empty line at the end. */
  bytes: number;
}

/**
 * Reads one head. Call it with all bytes since its start whenever more have arrived; it looks at each only once.
 * Returns `undefined` while the head is incomplete. Anything ambiguous is rejected: bare line feeds, folded lines,
 * spaces before a colon.
 * @throws {MessageFault} also above `maxBytes`, or for a line above 16 KB.
 */
export type HeadReader = (bytes: Buffer, maxBytes?: number) => Head | undefined;

/** Returns the reader of a head. `most`: the limit that an error names. */
export function headReader(odd?: Odd, most = MAX_HEAD_BYTES): HeadReader {
  let searched = 0;
  return (bytes, maxBytes = most) => {
    const end = bytes.indexOf(HEAD_END, searched);
    if ((end < 0 ? bytes.length : end) > maxBytes) throw tooLarge(most);
    // The end may arrive in parts.
    searched = Math.max(0, bytes.length - HEAD_END.length + 1);
    return end < 0 ? undefined : parseHead(bytes.toString('latin1', 0, end), end + HEAD_END.length, odd);
  };
}

/** The head of an answer. `bytes` includes interim ones before it. */
export interface AnswerHead extends Head {
  status: number;
}

const STATUS = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |$)/;
/** Maximum number of interim responses (1xx) before a response. */
export const MOST_INTERIM = 16;

/** Returns the reader of the head of a final answer. It is asked like a `HeadReader`; `maxBytes` is the limit of all heads together. */
export function answerHeadReader(
  maxBytes = MAX_HEAD_BYTES,
  odd?: Odd,
): (bytes: Buffer) => AnswerHead | undefined {
  let start = 0;
  let interim = 0;
  let readHead = headReader(odd, maxBytes);
  return (bytes) => {
    for (;;) {
      const head = readHead(bytes.subarray(start), maxBytes - start);
      if (head === undefined) return undefined;
      const status = Number(STATUS.exec(head.line)?.[1]);
      // A protocol switch was not requested.
      if (!(status >= 100) || status === 101) throw new MessageFault('This is not an HTTP/1.1 response.');
      start += head.bytes;
      if (status >= 200) return { ...head, status, bytes: start };
      if (++interim > MOST_INTERIM) throw new MessageFault('There are too many interim responses.');
      readHead = headReader(odd, maxBytes);
    }
  };
}

function tooLarge(most = MAX_HEAD_BYTES): MessageFault {
  return new MessageFault(`The head is longer than ${most / 1024} KB, or one of its lines than 16 KB.`, true);
}

/** Whether lines that are malformed are left out, by a reader that passes nothing on. */
type Odd = 'refuse' | 'skip';

/** Parses a head without the empty line at its end, with one character for each byte. */
function parseHead(text: string, bytes: number, odd: Odd = 'refuse'): Head {
  const [line = '', ...lines] = text.split('\r\n');
  if (line.length > MAX_LINE_BYTES) throw tooLarge();
  if (BREAK.test(line)) throw new MessageFault('The first line contains a bare line break.');
  const kept = odd === 'skip' ? lines.filter((one) => NAMED.test(one) && !BREAK.test(one)) : lines;
  return { line: line.replace(CONTROLS, ' '), fields: kept.map(parseField), bytes };
}

function parseField(text: string): [name: string, value: string] {
  if (text.length > MAX_LINE_BYTES) throw tooLarge();
  const colon = text.indexOf(':');
  if (!NAMED.test(text) || BREAK.test(text)) throw new MessageFault('A header line is malformed.');
  return [text.slice(0, colon), trimmed(text.replace(CONTROLS, ' '), colon + 1)];
}

/** Returns the text from `start` on without spaces and tabs around it. `trim` would also remove other blanks. */
function trimmed(text: string, start: number): string {
  let from = start;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (from < to && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** Returns all values of a field as one list, in lower case; empty if there is none. */
export function listOf({ fields }: Head, name: string): string[] {
  return fields
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** How a message's body ends. */
export type Framing = 'none' | 'chunked' | 'until close' | { length: number };

/**
 * Returns the framing that the fields announce, or `unannounced`, which tells answers from requests: in an answer,
 * chunks count for more than a length, and may be encoded in other ways as well (RFC 9112, 6.3).
 * @throws {MessageFault} if they contradict each other, because two readers could then disagree.
 */
export function framingOf(head: Head, unannounced: 'none' | 'until close'): Framing {
  const isAnswer = unannounced === 'until close';
  const encodings = listOf(head, 'transfer-encoding').filter((name) => !(isAnswer && name === 'identity'));
  const lengths = new Set(listOf(head, 'content-length'));
  if (encodings.length > 0) {
    const isPlain = lengths.size === 0 && encodings.length === 1;
    if (encodings.at(-1) !== 'chunked' || !(isAnswer || isPlain)) {
      throw new MessageFault('The length of the body is ambiguous, or given in an unknown way.');
    }
    return 'chunked';
  }
  const [length, other] = lengths;
  if (length === undefined) return unannounced;
  if (other !== undefined || !/^\d{1,15}$/.test(length))
    throw new MessageFault('The length of the body is malformed.');
  return length === '0' ? 'none' : { length: Number(length) };
}

/** Finds the end of a body in the bytes that pass. */
export interface BodyEnd {
  /** Returns how many of the bytes belong to the body. Throws a `MessageFault` for malformed chunks. */
  take(bytes: Buffer): number;
  readonly done: boolean;
  /** Number of bytes that are announced to follow; infinite if the body ends with the connection. */
  readonly left: number;
}

/** Takes a part of a body, which is a view. */
type Sink = (part: Buffer) => void;

/** Detects the end of a body with this framing. A body that ends with the connection is never done. `sink` gets what it contains. */
export function bodyEnd(framing: Framing, sink?: Sink): BodyEnd {
  if (framing === 'chunked') return new ChunkedEnd({ sink });
  let left = framing === 'none' ? 0 : framing === 'until close' ? Number.POSITIVE_INFINITY : framing.length;
  return {
    take(bytes) {
      const taken = Math.min(left, bytes.length);
      left -= taken;
      if (taken > 0) sink?.(bytes.subarray(0, taken));
      return taken;
    },
    get done() {
      return left === 0;
    },
    get left() {
      return left;
    },
  };
}

/**
 * Passes a body with this framing on. Chunks are written again, as all readers understand them: a recipient may be strict about sizes,
 * and knows none of the sender's extensions, which concern only the two of them (RFC 9112, 7.1.1).
 */
export function relay(framing: Framing) {
  const parts: Buffer[] = [];
  const trailer: string[] = [];
  const isChunked = framing === 'chunked';
  const end = isChunked
    ? new ChunkedEnd({ sink: (part) => parts.push(part), onTrailer: (line) => trailer.push(line) })
    : bodyEnd(framing);
  return {
    /** As that of `BodyEnd`; `piece` is what to pass on, possibly nothing. Throws a `MessageFault` for malformed chunks. */
    take(bytes: Buffer) {
      const count = end.take(bytes);
      if (!isChunked) return { count, piece: bytes.subarray(0, count) };
      const bodyBytes = parts.reduce((sum, { length }) => sum + length, 0);
      const pieces = bodyBytes > 0 ? [Buffer.from(`${bodyBytes.toString(16)}\r\n`), ...parts, LINE_END] : [];
      parts.length = 0;
      if (end.done) pieces.push(Buffer.from(`0\r\n${trailer.splice(0).join('')}\r\n`, 'latin1'));
      return { count, piece: Buffer.concat(pieces) };
    },
    get done() {
      return end.done;
    },
    /** As that of `BodyEnd`: between two chunks, nothing is announced. */
    get left() {
      return end.left;
    },
  };
}

/** A body on its way to another reader. */
export type Relay = ReturnType<typeof relay>;

/** With its extensions. Some senders pad sizes. */
const CHUNK_SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;[^\r\n]*)?\r\n$/i;
const LINE_END = Buffer.from('\r\n');
const CR = 13;
const LF = 10;

/**
 * Returns a line of a trailer as it is passed on.
 * @throws {MessageFault} for anything but a field, which could be a request to the next reader, and for what frames a message.
 */
function trailerLine(line: string): string {
  const [name, value] = parseField(line);
  if (/^(content-length|transfer-encoding|host)$/i.test(name))
    throw new MessageFault('The trailer is malformed.');
  return `${name}: ${value}\r\n`;
}

/** Chunks (RFC 9112, 7.1), parsed as strictly as their readers should: only CR LF ends a line. */
class ChunkedEnd implements BodyEnd {
  done = false;
  readonly #sink: Sink | undefined;
  readonly #onTrailer: ((line: string) => void) | undefined;
  #state: 'size' | 'data' | 'trailer' = 'size';
  #line = '';
  /** Of this chunk, with its end. */
  #left = 0;
  #trailerBytes = 0;

  constructor({ sink, onTrailer }: { sink?: Sink | undefined; onTrailer?: (line: string) => void }) {
    this.#sink = sink;
    this.#onTrailer = onTrailer;
  }

  get left(): number {
    return Math.max(0, this.#left - 2);
  }

  take(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.done) {
      if (this.#state === 'data') {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#checkDataEnd(bytes, at, taken);
        const data = Math.min(taken, this.#left - 2);
        if (data > 0) this.#sink?.(bytes.subarray(at, at + data));
        this.#left -= taken;
        at += taken;
        if (this.#left === 0) this.#state = 'size';
      } else {
        const next = bytes.indexOf(LF, at) + 1;
        // A line that is too long is not read to its end.
        const end = Math.min(next || bytes.length, at + MAX_TRAILER_BYTES + 1);
        this.#addToLine(bytes.toString('latin1', at, end));
        at = end;
      }
    }
    return at;
  }

  /** The last two bytes of a chunk's data are CR LF. */
  #checkDataEnd(bytes: Buffer, at: number, taken: number): void {
    for (const [left, wanted] of [
      [2, CR],
      [1, LF],
    ] as const) {
      const place = this.#left - left;
      if (place >= 0 && place < taken && bytes[at + place] !== wanted)
        throw new MessageFault('A chunk is malformed.');
    }
  }

  #addToLine(text: string): void {
    const line = this.#line + text;
    const isWhole = text.endsWith('\n');
    if (this.#state === 'size' && line.length > MAX_SIZE_LINE_BYTES + Number(isWhole))
      throw new MessageFault('A chunk is malformed.');
    if (this.#state === 'trailer') this.#trailerBytes += text.length;
    if (this.#trailerBytes > MAX_TRAILER_BYTES) throw new MessageFault('The trailer is too long.');
    this.#line = isWhole ? '' : line;
    if (!isWhole) return;
    if (this.#state === 'trailer') {
      if (!line.endsWith('\r\n')) throw new MessageFault('The trailer is malformed.');
      this.done = line === '\r\n';
      if (!this.done) {
        const field = trailerLine(line.slice(0, -2));
        this.#onTrailer?.(field);
      }
      return;
    }
    const size = CHUNK_SIZE.exec(line)?.[1];
    if (size === undefined) throw new MessageFault('A chunk is malformed.');
    const length = Number.parseInt(size, 16);
    this.#state = length === 0 ? 'trailer' : 'data';
    this.#left = length + 2;
  }
}
