import type { Connection } from './connection.ts';
import { CheckFault } from './fault.ts';

/** Most bytes of a status line with its headers. Browsers and servers live with 8 KB. */
const MAX_HEAD_BYTES = 8 * 1024;

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
export async function readHead(connection: Connection): Promise<Head> {
  for (let interim = 0; interim <= MAX_INTERIM; interim++) {
    const head = parseHead((await connection.until('\r\n\r\n', MAX_HEAD_BYTES)).toString('latin1'));
    if (head.status >= 200) return head;
  }
  throw new CheckFault('protocol_error', 'too many interim answers');
}

/**
 * Reads one HTTP answer: no redirects, no decompression, the body only of a 200.
 * @throws {CheckFault} `protocol_error` for malformed framing, `bad_answer` for more than `maxBytes` of body or
 * an encoded one, `auth_required` for 407.
 */
export async function readAnswer(connection: Connection, maxBytes: number): Promise<HttpAnswer> {
  const { status, headers } = await readHead(connection);
  if (status === 407) throw new CheckFault('auth_required', 'wants credentials');
  if (status !== 200) return { status, body: '' };
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new CheckFault('bad_answer', 'encoded although asked not to');
  return { status, body: (await readBody(connection, headers, maxBytes)).toString('utf8') };
}

async function readBody(connection: Connection, headers: Map<string, string>, max: number): Promise<Buffer> {
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

async function readChunks(connection: Connection, max: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const line = (await connection.until('\r\n', 256)).toString('latin1');
    const size = /^([0-9a-f]{1,12})[ \t]*(;.*)?$/i.exec(line)?.[1];
    if (size === undefined) throw new CheckFault('protocol_error', 'malformed chunk size');
    const bytes = Number.parseInt(size, 16);
    if (bytes === 0) return Buffer.concat(chunks);
    total += bytes;
    // Each chunk counts at least 16 bytes, so that chunks of one byte cannot be many either.
    if (total > max || chunks.length > max / 16) throw new CheckFault('bad_answer', 'too long an answer');
    chunks.push(await connection.take(bytes));
    if ((await connection.take(2)).toString('latin1') !== '\r\n') {
      throw new CheckFault('protocol_error', 'malformed chunk end');
    }
  }
}

/** The only headers that matter here; they frame the body. */
const FRAMING = new Set(['content-length', 'transfer-encoding', 'content-encoding']);

function parseHead(text: string): Head {
  const status = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |\r|$)/.exec(text)?.[1];
  if (status === undefined) throw new CheckFault('protocol_error', 'not an HTTP answer');
  const headers = new Map<string, string>();
  for (let start = text.indexOf('\r\n'); start >= 0; ) {
    const end = text.indexOf('\r\n', start + 2);
    const colon = text.indexOf(':', start);
    if (colon < start + 3 || (end >= 0 && colon > end))
      throw new CheckFault('protocol_error', 'malformed header');
    const name = text
      .slice(start + 2, colon)
      .trim()
      .toLowerCase();
    if (FRAMING.has(name)) {
      const value = text
        .slice(colon + 1, end < 0 ? undefined : end)
        .trim()
        .toLowerCase();
      if ((headers.get(name) ?? value) !== value)
        throw new CheckFault('protocol_error', 'contradictory headers');
      headers.set(name, value);
    }
    start = end;
  }
  return { status: Number(status), headers };
}
