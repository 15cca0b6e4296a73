import { CheckFault } from './fault.ts';
import { Inbox, type Reader } from './inbox.ts';

/** Maximum size in bytes of a status line and its headers. Browsers and servers use limits around 8 KB. */
const MAX_HEAD_BYTES = 8 * 1024;

/** Maximum size in bytes of the line before a chunk. */
const MAX_SIZE_LINE_BYTES = 256;

/** As bytes, because they are found five times as fast. */
const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/** Informational answers (1xx) that are skipped before the real one. */
const MAX_INTERIM = 3;

/** Maximum `Retry-After` that is accepted. */
const MAX_RETRY_AFTER_S = 3600;

export interface HttpAnswer {
  status: number;
  /** Empty unless the status is 200. */
  body: string;
  /** How long the other side asks us to wait. */
  retryAfterMs: number | null;
}

/** A range of a file. */
export interface FileRange {
  bytes: Buffer;
  /** Size of the whole file. */
  size: number;
}

interface Head {
  status: number;
  headers: Map<string, string>;
}

/** How to read a body. */
interface BodyForm<T> {
  take(inbox: Inbox, count: number): T | undefined;
  of(bytes: Buffer): T;
}

const TEXT: BodyForm<string> = {
  take: (inbox, count) => inbox.text(count),
  of: (bytes) => bytes.toString('utf8'),
};
const BYTES: BodyForm<Buffer> = { take: (inbox, count) => inbox.take(count), of: (bytes) => bytes };

/** Reads the head of one HTTP answer. Throws `protocol_error` if it is not HTTP/1 or longer than 8 KB. */
export function headReader(): Reader<Head> {
  let interim = 0;
  return (inbox) => {
    for (;;) {
      const text = inbox.until(HEAD_END, MAX_HEAD_BYTES);
      if (text === undefined) return undefined;
      const head = parseHead(text);
      if (head.status >= 200) return head;
      if (++interim > MAX_INTERIM) throw new CheckFault('protocol_error', 'too many interim answers');
    }
  };
}

/**
 * Reads one HTTP answer, without redirects or decompression, and the body only of a 200. Throws `protocol_error` for
 * malformed framing, `bad_answer` for an encoded body or one over `maxBytes`, and `auth_required` for 407.
 */
export function answerReader(maxBytes: number): Reader<HttpAnswer> {
  const readHead = headReader();
  let readBody: Reader<string> | undefined;
  return (inbox) => {
    if (readBody === undefined) {
      const head = readHead(inbox);
      if (head === undefined) return undefined;
      const { status } = head;
      if (status === 407) throw new CheckFault('auth_required', 'wants credentials');
      if (status !== 200) return { status, body: '', retryAfterMs: retryAfter(head) };
      readBody = bodyReader(head, maxBytes, TEXT);
    }
    const body = readBody(inbox);
    return body === undefined ? undefined : { status: 200, body, retryAfterMs: null };
  };
}

/**
 * Reads an answer of any status, and up to `maxBytes` of its body as text. A body that is encoded although `identity` was
 * requested is empty.
 */
export function openingReader(maxBytes: number): Reader<{ status: number; body: string }> {
  const readHead = headReader();
  /** One buffer: a view of each of many tiny chunks would take a hundred times as much. */
  const body = new Inbox();
  let head: Head | undefined;
  let left = maxBytes;
  /** Bytes that follow in this chunk, or until the end. */
  let size: number | undefined;

  /** Returns true once the body, or enough of it, is there. */
  function isRead(inbox: Inbox, isChunked: boolean): boolean {
    for (;;) {
      if (size === undefined) {
        const line = inbox.until(LINE_END, MAX_SIZE_LINE_BYTES);
        if (line === undefined) return false;
        size = chunkSize(line);
        if (size === 0) return true;
      }
      const part = inbox.take(Math.min(inbox.size, size, left)) ?? Buffer.alloc(0);
      body.add(part);
      left -= part.length;
      size -= part.length;
      if (left === 0 || (!isChunked && size === 0)) return true;
      if (size > 0 || inbox.take(LINE_END.length) === undefined) return false;
      size = undefined;
    }
  }

  return (inbox) => {
    if (head === undefined) {
      head = readHead(inbox);
      if (head === undefined) return undefined;
      if (!head.headers.has('transfer-encoding')) size = lengthOf(head) ?? Number.MAX_SAFE_INTEGER;
    }
    const { status, headers } = head;
    const hasText = status !== 204 && status !== 304 && !headers.has('content-encoding');
    if (hasText && !isRead(inbox, headers.has('transfer-encoding')) && !inbox.ended) return undefined;
    return { status, body: body.view().toString('utf8') };
  };
}

/** Reads the answer to a range request. Throws `bad_answer` if the range does not start at `from`. */
export function rangeReader(from: number, maxBytes: number): Reader<FileRange> {
  const readHead = headReader();
  let size = 0;
  let readBody: Reader<Buffer> | undefined;
  return (inbox) => {
    if (readBody === undefined) {
      const head = readHead(inbox);
      if (head === undefined) return undefined;
      if (head.status === 407) throw new CheckFault('auth_required', 'wants credentials');
      const range = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(head.headers.get('content-range') ?? '');
      if (head.status !== 206 || Number(range?.[1]) !== from) {
        throw new CheckFault('bad_answer', `answered with status ${head.status}, not the part of the file`);
      }
      size = Number(range?.[2]);
      readBody = bodyReader(head, maxBytes, BYTES);
    }
    const bytes = readBody(inbox);
    return bytes === undefined ? undefined : { bytes, size };
  };
}

function retryAfter({ headers }: Head): number | null {
  const text = headers.get('retry-after') ?? '';
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), MAX_RETRY_AFTER_S) * 1000 : null;
}

function bodyReader<T>({ headers }: Head, max: number, form: BodyForm<T>): Reader<T> {
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new CheckFault('bad_answer', 'an encoded body that was not requested');
  const transfer = headers.get('transfer-encoding');
  if (transfer !== undefined) {
    if (transfer !== 'chunked') throw new CheckFault('protocol_error', 'unknown transfer encoding');
    return chunksReader(max, form);
  }
  const length = lengthOf({ headers });
  if (length === undefined) {
    return (inbox) => {
      const count = inbox.rest(max);
      return count === undefined ? undefined : form.take(inbox, count);
    };
  }
  if (length > max) throw new CheckFault('bad_answer', 'too long an answer');
  return (inbox) => form.take(inbox, length);
}

function lengthOf({ headers }: Pick<Head, 'headers'>): number | undefined {
  const length = headers.get('content-length');
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw new CheckFault('protocol_error', 'malformed content length');
  return length === undefined ? undefined : Number(length);
}

function chunksReader<T>(max: number, form: BodyForm<T>): Reader<T> {
  const chunks: Buffer[] = [];
  let total = 0;
  /** Size of the current chunk, once its size line was read. */
  let size: number | undefined;
  return (inbox) => {
    for (;;) {
      if (size === undefined) {
        const line = inbox.until(LINE_END, MAX_SIZE_LINE_BYTES);
        if (line === undefined) return undefined;
        size = chunkSize(line);
        if (size === 0) return form.of(Buffer.concat(chunks));
        total += size;
        // Each chunk counts as at least 16 bytes, which limits the number of tiny chunks.
        if (total > max || chunks.length > max / 16) throw new CheckFault('bad_answer', 'too long an answer');
      }
      const chunk = inbox.take(size + LINE_END.length);
      if (chunk === undefined) return undefined;
      if (!chunk.subarray(size).equals(LINE_END))
        throw new CheckFault('protocol_error', 'malformed chunk end');
      chunks.push(chunk.subarray(0, size));
      size = undefined;
    }
  };
}

function chunkSize(line: string): number {
  const size = /^([0-9a-f]{1,12})[ \t]*(;.*)?$/i.exec(line)?.[1];
  if (size === undefined) throw new CheckFault('protocol_error', 'malformed chunk size');
  return Number.parseInt(size, 16);
}

/** Status line and headers. A line break other than CR LF is ambiguous, so it is not allowed. */
const HEAD = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?(?:\r\n[^:\r\n]+:[^\r\n]*)*$/;

/** The only headers that matter here: framing, range, and retry time. */
const FRAMING =
  /\r\n(?:content-length|transfer-encoding|content-encoding|content-range|retry-after)[ \t]*:[^\r\n]*/gi;

function parseHead(text: string): Head {
  const status = HEAD.exec(text)?.[1];
  if (status === undefined) throw new CheckFault('protocol_error', 'not the head of an HTTP answer');
  const headers = new Map<string, string>();
  for (const found of text.match(FRAMING) ?? []) {
    const line = found.toLowerCase();
    const colon = line.indexOf(':');
    const name = line.slice(2, colon).trimEnd();
    const value = line.slice(colon + 1).trim();
    if ((headers.get(name) ?? value) !== value)
      throw new CheckFault('protocol_error', 'contradictory headers');
    headers.set(name, value);
  }
  return { status: Number(status), headers };
}
