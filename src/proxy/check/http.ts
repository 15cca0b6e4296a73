import type { Connection, Conversation } from './connection.ts';
import { CheckFault } from './fault.ts';

/** Most bytes of a status line with its headers. Browsers and servers live with 8 KB. */
const MAX_HEAD_BYTES = 8 * 1024;

/** Most bytes of the line before a chunk. */
const MAX_SIZE_LINE_BYTES = 256;

/** As bytes, which are found in a fifth of the time. */
const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/** Informational answers (1xx) that are skipped before the real one. */
const MAX_INTERIM = 3;

export interface HttpAnswer {
  status: number;
  /** Empty unless the status is 200. */
  body: string;
}

interface Head {
  status: number;
  headers: Map<string, string>;
}

/**
 * Reads the head of one HTTP answer.
 * @throws {CheckFault} `protocol_error` where it is not HTTP/1 or longer than 8 KB.
 */
export function* readHead(connection: Connection): Conversation<Head> {
  for (let interim = 0; interim <= MAX_INTERIM; interim++) {
    const head = parseHead(yield* connection.until(HEAD_END, MAX_HEAD_BYTES));
    if (head.status >= 200) return head;
  }
  throw new CheckFault('protocol_error', 'too many interim answers');
}

/**
 * Reads one HTTP answer: no redirects, no decompression, the body only of a 200.
 * @throws {CheckFault} `protocol_error` for malformed framing, `bad_answer` for more than `maxBytes` of body or
 * an encoded one, `auth_required` for 407.
 */
export function* readAnswer(connection: Connection, maxBytes: number): Conversation<HttpAnswer> {
  const { status, headers } = yield* readHead(connection);
  if (status === 407) throw new CheckFault('auth_required', 'wants credentials');
  if (status !== 200) return { status, body: '' };
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new CheckFault('bad_answer', 'encoded although asked not to');
  const body = yield* readBody(connection, headers, maxBytes);
  return { status, body: body.toString('utf8') };
}

function readBody(connection: Connection, headers: Map<string, string>, max: number): Conversation<Buffer> {
  const transfer = headers.get('transfer-encoding');
  if (transfer !== undefined) {
    if (transfer !== 'chunked') throw new CheckFault('protocol_error', 'unknown transfer encoding');
    return readChunks(connection, max);
  }
  const length = headers.get('content-length');
  if (length === undefined) return connection.rest(max);
  if (!/^\d{1,15}$/.test(length)) throw new CheckFault('protocol_error', 'malformed content length');
  if (Number(length) > max) throw new CheckFault('bad_answer', 'too long an answer');
  return connection.take(Number(length));
}

function* readChunks(connection: Connection, max: number): Conversation<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const bytes = chunkSize(yield* connection.until(LINE_END, MAX_SIZE_LINE_BYTES));
    if (bytes === 0) return Buffer.concat(chunks);
    total += bytes;
    // Each chunk counts at least 16 bytes, so that chunks of one byte cannot be many either.
    if (total > max || chunks.length > max / 16) throw new CheckFault('bad_answer', 'too long an answer');
    chunks.push(yield* connection.take(bytes));
    if ((yield* connection.take(2)).toString('latin1') !== '\r\n') {
      throw new CheckFault('protocol_error', 'malformed chunk end');
    }
  }
}

function chunkSize(line: string): number {
  const size = /^([0-9a-f]{1,12})[ \t]*(;.*)?$/i.exec(line)?.[1];
  if (size === undefined) throw new CheckFault('protocol_error', 'malformed chunk size');
  return Number.parseInt(size, 16);
}

/** Status line and headers. A line break that is not CR LF could be read in two ways, so it may not be there. */
const HEAD = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?(?:\r\n[^:\r\n]+:[^\r\n]*)*$/;

/** The only headers that matter here; they frame the body. */
const FRAMING = /\r\n(content-length|transfer-encoding|content-encoding)[ \t]*:[ \t]*([^\r\n]*)/gi;

function parseHead(text: string): Head {
  const status = HEAD.exec(text)?.[1];
  if (status === undefined) throw new CheckFault('protocol_error', 'not the head of an HTTP answer');
  const headers = new Map<string, string>();
  for (const [, name = '', content = ''] of text.matchAll(FRAMING)) {
    const [key, value] = [name.toLowerCase(), content.trimEnd().toLowerCase()];
    if ((headers.get(key) ?? value) !== value)
      throw new CheckFault('protocol_error', 'contradictory headers');
    headers.set(key, value);
  }
  return { status: Number(status), headers };
}
