import { framingOf, type HeadReader, headReader, listOf } from '../lib/http-message.ts';

export const HANDSHAKE = 22;
export const ALERT = 21;
const CLIENT_HELLO = 1;
const SERVER_HELLO = 2;
const RECORD_HEADER = 5;
/** Maximum size in bytes of one record. */
const MAX_RECORD = 16_384 + 256;

/** Maximum size in bytes of a ClientHello; with post-quantum keys they take about 2 KB. */
const MAX_HELLO_BYTES = 32 * 1024;
/** Maximum number of records that it comes in. Some clients split it to get past filters, into a handful. */
const MOST_RECORDS = 64;

/** Methods whose requests may be sent to several proxies. */
const METHOD = /^(GET|HEAD) /;

/** The first data of a client in a tunnel, as far as it may be sent to several proxies. */
export type Opening =
  | { kind: 'hello'; bytes: number }
  /** The whole head of a request that may be sent twice. */
  | { kind: 'request'; bytes: number; method: string }
  /** The beginning of one of these. */
  | { kind: 'partial' }
  | { kind: 'other' };

/** Returns a function that examines the first bytes of a client, to be called with all of them whenever more arrive. */
export function openingReader(): (bytes: Buffer) => Opening {
  const readHead = headReader();
  return (bytes) => {
    const method = METHOD.exec(bytes.toString('latin1', 0, 5))?.[1];
    return method === undefined ? readHello(bytes) : readRequestOpening(bytes, method, readHead);
  };
}

function readRequestOpening(bytes: Buffer, method: string, readHead: HeadReader): Opening {
  try {
    const head = readHead(bytes);
    if (head === undefined) return { kind: 'partial' };
    const repeatable = framingOf(head, 'none') === 'none' && listOf(head, 'upgrade').length === 0;
    return repeatable ? { kind: 'request', bytes: head.bytes, method } : { kind: 'other' };
  } catch {
    // Unknown data may be another protocol, and is forwarded unchanged.
    return { kind: 'other' };
  }
}

/**
 * Detects whether a client speaks TLS. Oversized or malformed data counts as other traffic. A request that a client sends
 * along as early data is in records of its own, which are sent once.
 */
function readHello(bytes: Buffer): Opening {
  if (bytes[0] !== HANDSHAKE || (bytes.length > 1 && bytes[1] !== 3)) return { kind: 'other' };
  if (bytes.length > 5 && bytes[5] !== CLIENT_HELLO) return { kind: 'other' };
  let start = Buffer.alloc(0);
  let at = 0;
  let have = 0;
  for (let records = 0; have < 4 || have < 4 + start.readUIntBE(1, 3); records++) {
    if (at > MAX_HELLO_BYTES || records >= MOST_RECORDS) return { kind: 'other' };
    if (bytes.length < at + RECORD_HEADER) return { kind: 'partial' };
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== HANDSHAKE || length === 0 || length > MAX_RECORD) return { kind: 'other' };
    at += RECORD_HEADER + length;
    if (bytes.length < at) return { kind: 'partial' };
    // All of the message would be copied again with each piece that arrives.
    if (have < 4) start = Buffer.concat([start, bytes.subarray(at - length, at)]);
    have += length;
  }
  return { kind: 'hello', bytes: at };
}

/**
 * Returns what follows records of TLS as they pass, and reports whether the latest one is incomplete. `onRecord`: called
 * with the length of each that begins. Default: nothing.
 */
export function recordFollower(onRecord?: (length: number) => void): (bytes: Uint8Array) => boolean {
  let left = 0;
  /** Bytes of the next header, and the latest two of them, which are the length in the end. */
  let have = 0;
  let length = 0;
  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      const taken = Math.min(left, bytes.length - at);
      left -= taken;
      at += taken;
      if (taken > 0) continue;
      length = ((length << 8) | (bytes[at++] ?? 0)) & 0xffff;
      have = (have + 1) % RECORD_HEADER;
      if (have > 0) continue;
      left = length;
      onRecord?.(length);
    }
    return left > 0 || have > 0;
  };
}

/** The kind of a server's first bytes: a ServerHello proves that someone speaks TLS there, though not who. */
type Greeting = 'hello' | 'alert' | 'partial' | 'other';

/** Judges the first bytes of the answer to a ClientHello. */
export function readGreeting(bytes: Buffer): Greeting {
  const type = bytes[0];
  if (type !== HANDSHAKE && type !== ALERT) return bytes.length === 0 ? 'partial' : 'other';
  if (bytes.length > 1 && bytes[1] !== 3) return 'other';
  if (bytes.length < RECORD_HEADER) return 'partial';
  const length = bytes.readUInt16BE(3);
  if (type === ALERT) return length === 2 ? 'alert' : 'other';
  if (length < 4 || length > MAX_RECORD) return 'other';
  // Type, length, version and random of the message are enough to tell, without waiting for certificates.
  if (bytes.length < RECORD_HEADER + 4 + 2 + 32) return 'partial';
  return bytes[5] === SERVER_HELLO && bytes[9] === 3 ? 'hello' : 'other';
}
