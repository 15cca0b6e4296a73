import { CheckFault } from './fault.ts';
import type { Reader } from './inbox.ts';

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

/** Reads the head of one HTTP answer; it is a `protocol_error` where that is not HTTP/1 or longer than 8 KB. */
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
 * Reads one HTTP answer: no redirects, no decompression, the body only of a 200. It is a `protocol_error` where the
 * framing is malformed, `bad_answer` with more than `maxBytes` of body or an encoded one, `auth_required` for 407.
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
      if (status !== 200) return { status, body: '' };
      readBody = bodyReader(head, maxBytes);
    }
    const body = readBody(inbox);
    return body === undefined ? undefined : { status: 200, body };
  };
}

function bodyReader({ headers }: Head, max: number): Reader<string> {
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new CheckFault('bad_answer', 'encoded although asked not to');
  const transfer = headers.get('transfer-encoding');
  if (transfer !== undefined) {
    if (transfer !== 'chunked') throw new CheckFault('protocol_error', 'unknown transfer encoding');
    return chunksReader(max);
  }
  const length = headers.get('content-length');
  if (length === undefined) return (inbox) => inbox.rest(max);
  if (!/^\d{1,15}$/.test(length)) throw new CheckFault('protocol_error', 'malformed content length');
  if (Number(length) > max) throw new CheckFault('bad_answer', 'too long an answer');
  return (inbox) => inbox.text(Number(length));
}

function chunksReader(max: number): Reader<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  /** Bytes of the chunk that is being read, once its size line was. */
  let size: number | undefined;
  return (inbox) => {
    for (;;) {
      if (size === undefined) {
        const line = inbox.until(LINE_END, MAX_SIZE_LINE_BYTES);
        if (line === undefined) return undefined;
        size = chunkSize(line);
        if (size === 0) return Buffer.concat(chunks).toString('utf8');
        total += size;
        // Each chunk counts at least 16 bytes, so that chunks of one byte cannot be many either.
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

/** Status line and headers. A line break that is not CR LF could be read in two ways, so it may not be there. */
const HEAD = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?(?:\r\n[^:\r\n]+:[^\r\n]*)*$/;

/** The only headers that matter here, in lower case; they frame the body. */
const FRAMING = /\r\n(?:content-length|transfer-encoding|content-encoding)[ \t]*:[^\r\n]*/g;

function parseHead(text: string): Head {
  const status = HEAD.exec(text)?.[1];
  if (status === undefined) throw new CheckFault('protocol_error', 'not the head of an HTTP answer');
  const headers = new Map<string, string>();
  for (const line of text.toLowerCase().match(FRAMING) ?? []) {
    const colon = line.indexOf(':');
    const name = line.slice(2, colon).trimEnd();
    const value = line.slice(colon + 1).trim();
    if ((headers.get(name) ?? value) !== value)
      throw new CheckFault('protocol_error', 'contradictory headers');
    headers.set(name, value);
  }
  return { status: Number(status), headers };
}
