/**
 * Looks for input whose reading takes more than in proportion to its length: each reader of strangers' bytes gets random patterns, repeated to a
 * length and to twice that, whole and in small pieces. Twice the length may take at most three times as long. Goal: none takes more.
 *
 *   bun bench/growth.ts [PATTERNS] [SEED]    patterns for each reader; default 200
 */
import { readUser } from '../src/gateway/user-options.ts';
import { findClient } from '../src/http/client/clients.ts';
import { createProxyTrust } from '../src/http/client/proxy-trust.ts';
import { parseJson } from '../src/http/read-body.ts';
import { foldText, needlesOf } from '../src/image/records/searched.ts';
import { isNotModified, requestedRange } from '../src/image/serve/conditional.ts';
import { decodeBase64 } from '../src/image/upload/base64.ts';
import { readEncodedForm } from '../src/image/upload/encoded-form.ts';
import { cleanFilename } from '../src/image/upload/filename.ts';
import { readForm } from '../src/image/upload/multipart.ts';
import { acceptedIn } from '../src/lib/accepted.ts';
import { bodyEnd, headReader, relay } from '../src/lib/http-message.ts';
import { readEcho } from '../src/proxy/check/echo.ts';
import { openingReader } from '../src/proxy/check/http.ts';
import { Inbox } from '../src/proxy/check/inbox.ts';
import { createParser } from '../src/proxy/sources/parser.ts';
import type { SourceFormat } from '../src/proxy/sources/source.ts';
import { createRandom } from '../test/support/random.ts';

type Read = (text: string, piece: number) => unknown;

function* piecesOf(text: string, piece: number): Generator<string> {
  for (let at = 0; at < text.length; at += piece) yield text.slice(at, at + piece);
}
const bytesOf = (text: string) => Buffer.from(text, 'latin1');
async function* bytesIn(text: string, piece: number) {
  for (const one of piecesOf(text, piece)) yield bytesOf(one);
}
const drain = async (picture: AsyncIterable<Uint8Array>) => {
  for await (const _ of picture) {
    // Only read.
  }
};
const validators = { etag: '"x"', modified: 0 };
const trust = createProxyTrust(['127.0.0.1', '10.0.0.0/8']);

const list =
  (format: SourceFormat): Read =>
  (text, piece) => {
    const parser = createParser(format, { protocol: 'http', onCandidate: () => {} } as never);
    for (const one of piecesOf(text, piece)) parser.push(one);
    parser.end();
  };

/** Longest input of each reader that passes the limits in front of it, in bytes. */
const READERS: Record<string, [most: number, read: Read]> = {
  'list of lines': [1_000_000, list('lines')],
  'list as CSV': [1_000_000, list('csv')],
  'list as JSON': [1_000_000, list('json')],
  'page with a list': [1_000_000, list('html')],
  'head of a message': [
    64_000,
    (text, piece) => {
      const [read, inbox] = [headReader(), new Inbox()];
      for (const one of piecesOf(text, piece)) {
        inbox.add(bytesOf(one));
        read(inbox.view());
      }
    },
  ],
  'chunked body': [
    1_000_000,
    (text, piece) => {
      const end = bodyEnd('chunked', () => {});
      for (const one of piecesOf(text, piece)) end.take(bytesOf(one));
    },
  ],
  'chunked body on its way': [
    1_000_000,
    (text, piece) => {
      const body = relay('chunked');
      for (const one of piecesOf(text, piece)) body.take(bytesOf(one));
    },
  ],
  'answer of a site': [
    64_000,
    (text, piece) => {
      const [read, inbox] = [openingReader(64_000), new Inbox()];
      for (const one of piecesOf(`HTTP/1.1 200 OK\r\n${text}`, piece)) {
        inbox.add(bytesOf(one));
        read(inbox);
      }
    },
  ],
  'answer of a judge': [64_000, (text) => readEcho(text, 'token')],
  'user name': [16_000, (text) => readUser(text, { names: new Set() } as never)],
  JSON: [64_000, (text) => parseJson(text)],
  'list of addresses': [16_000, (text) => findClient('127.0.0.1', text, trust)],
  'list of types': [16_000, (text) => acceptedIn(text)],
  'list of tags': [16_000, (text) => isNotModified({ get: () => text } as unknown as Headers, validators)],
  range: [16_000, (text) => requestedRange({ get: () => text } as unknown as Headers, 9, validators)],
  'file name': [64_000, (text) => cleanFilename(text)],
  'text of a search': [16_000, (text) => [foldText(text), needlesOf(text)]],
  Base64: [1_000_000, (text, piece) => drain(decodeBase64(bytesIn(text, piece), 'image'))],
  'encoded form': [1_000_000, (text, piece) => readEncodedForm(bytesIn(text, piece), ['image'], drain)],
  'multipart form': [
    1_000_000,
    (text, piece) =>
      readForm(bytesIn(`--x\r\n${text}`, piece), {
        contentType: 'multipart/form-data; boundary=x',
        shape: { names: ['image'] },
        maxBytes: 2_000_000,
        store: drain,
      } as never),
  ],
};

/** Parts of which patterns are made: what starts, ends and divides something for one of the readers. */
const PARTS = [
  ...[
    ' ',
    '\t',
    '\r\n',
    '\n',
    '\r',
    '\0',
    ',',
    ';',
    ':',
    '=',
    '&',
    '"',
    "'",
    '\\',
    '/',
    '%',
    '%4',
    '+',
    '-',
    '.',
  ],
  ...[
    '(',
    '[',
    '{',
    '<',
    '>',
    ']',
    '}',
    '0',
    '1',
    'a',
    'A',
    'f',
    'é',
    '@',
    '#',
    '*',
    '<td>',
    '</tr>',
    '<!--',
    '&#',
  ],
  ...[
    '1.2.3.4',
    ':80',
    '10.0.0.1',
    '::1',
    'http://',
    'socks5://',
    '{"a":',
    '["',
    '0\r\n\r\n',
    '1\r\na\r\n',
    ';x="',
  ],
  ...[
    'A: b\r\n',
    '\r\n--x',
    'Content-Disposition: form-data; name="image"\r\n\r\n',
    'country-',
    'session-',
    'q=0.5',
  ],
  ...[
    'for=',
    '"a"',
    'data:',
    ';base64,',
    'AAAA',
    'bytes=',
    'Transfer-Encoding: chunked\r\n\r\n',
    'e\u0301',
    '\ufdfa',
  ],
];
const PIECES = [7, 1500, 1_000_000];
/** Shorter times say little. */
const LEAST_MS = 4;
const MOST_RATIO = 3;

async function timeOf(read: Read, text: string, piece: number): Promise<number> {
  const begun = performance.now();
  try {
    await read(text, piece);
  } catch {
    // Refusals count as well.
  }
  return performance.now() - begun;
}

/** Returns how much longer twice the length takes; the shortest of some tries, because others use the machine. */
async function ratioOf(read: Read, textOf: (length: number) => string, most: number, piece: number) {
  let [half, whole] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < 12; tries++) {
    whole = Math.min(whole, await timeOf(read, textOf(most), piece));
    if (whole < LEAST_MS) return { ratio: 0, whole };
    half = Math.min(half, await timeOf(read, textOf(most / 2), piece));
    if (tries > 1 && whole <= half * MOST_RATIO) break;
  }
  return { ratio: whole / half, whole };
}

const [patterns = 200, seed = 1] = process.argv.slice(2).map(Number);
const random = createRandom(seed);
const oneOf = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
const some = () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => oneOf(PARTS)).join('');
let worse = 0;
for (const [name, [most, read]] of Object.entries(READERS)) {
  let [slowest, refused] = [0, 0];
  for (let count = 0; count < patterns; count++) {
    const [start, unit, piece] = [random() < 0.5 ? some() : '', some(), oneOf(PIECES)];
    const textOf = (length: number) =>
      (start + unit.repeat(Math.ceil(length / unit.length))).slice(0, length);
    const { ratio, whole } = await ratioOf(read, textOf, most, piece);
    slowest = Math.max(slowest, whole);
    if (ratio <= MOST_RATIO) continue;
    refused++;
    worse++;
    console.log(
      `  WRONG ${name}: ${JSON.stringify({ start, unit, piece })} takes ${ratio.toFixed(1)} times as long`,
    );
  }
  console.log(
    `${refused === 0 ? 'ok   ' : 'WRONG'} ${name}: ${patterns} patterns, at most ${slowest.toFixed(0)} ms for ${most / 1000} KB`,
  );
}
process.exit(worse > 0 ? 1 : 0);
