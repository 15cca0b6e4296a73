import { connect } from 'node:net';

/** A request as bytes on a socket, well-formed or not. */
export interface HostileRequest {
  name: string;
  /** Method and path, and header lines; `Host` is added. */
  head: string[];
  /** What follows the head, piece by piece; may be endless. */
  body: () => Iterable<Uint8Array>;
  /** Ends the sending side after the body, as a client that has died does. */
  hangUp?: boolean;
  /** Bun or Deno itself refuses what is not HTTP, without an envelope, or closes the connection. */
  malformed?: boolean;
  /**
   * It goes on sending after the answer. The server closes then, and the reset may overtake the answer
   * (RFC 9112, section 9.6), so that none is an answer as well.
   */
  endless?: true;
  /** The only status that is right, where it is one. */
  status?: number;
}

export interface RawAnswer {
  /** `null`: the connection was closed without an answer. */
  status: number | null;
  body: string;
  /** Bytes of the body that went out before the answer came. */
  sent: number;
  ms: number;
}

const UPLOAD = 'POST /api/upload HTTP/1.1';
const BOUNDARY = 'Content-Type: multipart/form-data; boundary=xx';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const all = (text: string) => () => [bytes(text)];
const part = (name: string, content: string, filename = 'a.png') =>
  `--xx\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n\r\n${content}\r\n`;
const length = (text: string) => `Content-Length: ${Buffer.byteLength(text, 'latin1')}`;

function form(name: string, content: string, more: Partial<HostileRequest> = {}): HostileRequest {
  return { name, head: [UPLOAD, BOUNDARY, length(content)], body: all(content), ...more };
}

function* endless(piece: Uint8Array): Iterable<Uint8Array> {
  for (;;) yield piece;
}

const ZEROS = Buffer.alloc(65_536);
const CHUNK = Buffer.concat([bytes('10000\r\n'), ZEROS, bytes('\r\n')]);

/** Requests that attack the reading of bodies. `picture` is a good one. */
export function hostileRequests(picture: Buffer): HostileRequest[] {
  const good = picture.toString('latin1');
  const raw = (name: string, lines: string[], text: string, more: Partial<HostileRequest> = {}) => ({
    name,
    head: [UPLOAD, ...lines],
    body: all(text),
    ...more,
  });
  return [
    raw('a body of 40 GB, by its own account', ['Content-Length: 40000000000'], good, { status: 413 }),
    raw('a length of 2^64', ['Content-Length: 18446744073709551616'], good, { malformed: true }),
    raw('a length below zero', ['Content-Length: -1'], good, { malformed: true }),
    raw('a length that is no number', ['Content-Length: many'], good, { malformed: true }),
    raw('two lengths', ['Content-Length: 5', 'Content-Length: 50'], good, { malformed: true }),
    raw('a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n', {
      malformed: true,
    }),
    raw('a length that is too short', ['Content-Length: 100'], good, { malformed: true }),
    raw('a length that is too long', [`Content-Length: ${good.length + 1000}`], good, {
      hangUp: true,
      malformed: true,
    }),
    raw('an unknown transfer coding', ['Transfer-Encoding: gzip, zip'], good, { malformed: true }),
    raw('a chunk of no size', ['Transfer-Encoding: chunked'], 'zz\r\nabc\r\n0\r\n\r\n', { malformed: true }),
    raw('a chunk of 2^63', ['Transfer-Encoding: chunked'], '8000000000000000\r\nabc', {
      malformed: true,
      hangUp: true,
    }),
    raw('a chunk without an end', ['Transfer-Encoding: chunked'], `ff\r\n${good}`, {
      hangUp: true,
      malformed: true,
    }),
    raw(
      'a chunk with an extension of 200 KB',
      ['Transfer-Encoding: chunked'],
      `1;${'a'.repeat(200_000)}\r\nx\r\n0\r\n\r\n`,
      { malformed: true },
    ),
    raw(
      'trailers of 200 KB',
      ['Transfer-Encoding: chunked'],
      `1\r\nx\r\n0\r\n${'X: aaaaaaa\r\n'.repeat(20_000)}\r\n`,
      { malformed: true },
    ),
    raw('nothing', ['Content-Length: 0'], '', { status: 400 }),
    raw('a compressed body', ['Content-Encoding: gzip', 'Content-Length: 4'], '\x1f\x8b\x08\0', {
      status: 415,
    }),
    {
      name: 'an endless body in chunks',
      endless: true,
      head: [UPLOAD, 'Transfer-Encoding: chunked'],
      body: () => endless(CHUNK),
      status: 413,
    },
    {
      name: 'an endless file in a form',
      endless: true,
      head: [UPLOAD, BOUNDARY, 'Transfer-Encoding: chunked'],
      body: function* () {
        const start = bytes(part('image', '').slice(0, -2));
        yield bytes(`${start.length.toString(16)}\r\n`);
        yield start;
        yield bytes('\r\n');
        yield* endless(CHUNK);
      },
      status: 413,
    },
    {
      name: 'endless headers of a part',
      endless: true,
      head: [UPLOAD, BOUNDARY, 'Content-Length: 30000000'],
      body: function* () {
        yield bytes('--xx\r\nContent-Disposition: form-data; name="image"\r\nX: ');
        yield* endless(Buffer.alloc(65_536, 'a'));
      },
    },
    {
      name: 'endless fields',
      endless: true,
      head: [UPLOAD, BOUNDARY, 'Transfer-Encoding: chunked'],
      body: function* () {
        const field = '--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'.repeat(100);
        yield* endless(bytes(`${field.length.toString(16)}\r\n${field}\r\n`));
      },
      status: 400,
    },
    form('a form without an end', part('image', good)),
    form('a form that is cut in its boundary', `${part('image', good)}--x`),
    form('a form of another boundary', part('image', good).replaceAll('--xx', '--yy')),
    form('a form that is empty', '--xx--\r\n', { status: 400 }),
    form('a form of no parts at all', 'hello', { status: 400 }),
    form('two images', `${part('image', good)}${part('image', good)}--xx--\r\n`, { status: 201 }),
    form('an image of no bytes', `${part('image', '')}--xx--\r\n`, { status: 400 }),
    form('a file of another name', `${part('picture', good)}--xx--\r\n`, { status: 400 }),
    form('a path as a file name', `${part('image', good, '../../../etc/passwd')}--xx--\r\n`, { status: 201 }),
    form('a name of 7,000 letters', `${part('image', good, 'n'.repeat(7000))}--xx--\r\n`),
    form('a name of control characters', `${part('image', good, 'a\0b\x1b[31m')}--xx--\r\n`),
    form(
      'a field of 100,000 letters',
      `--xx\r\nContent-Disposition: form-data; name="format"\r\n\r\n${'w'.repeat(100_000)}\r\n--xx--\r\n`,
      { status: 400 },
    ),
    form(
      'a field named __proto__',
      `--xx\r\nContent-Disposition: form-data; name="__proto__"\r\n\r\nx\r\n${part('image', good)}--xx--\r\n`,
      { status: 201 },
    ),
    raw(
      'a form without a boundary',
      ['Content-Type: multipart/form-data', length(part('image', good))],
      part('image', good),
      { status: 400 },
    ),
    raw(
      'a boundary of 4,000 letters',
      [`Content-Type: multipart/form-data; boundary=${'b'.repeat(4000)}`, length(good)],
      good,
      { status: 400 },
    ),
    {
      name: 'a form of a page with a chunk of no size',
      head: [
        'POST /i/nobodyknows1 HTTP/1.1',
        'Content-Type: application/x-www-form-urlencoded',
        'Transfer-Encoding: chunked',
      ],
      body: all('5\r\npassw\r\nzz\r\n'),
      malformed: true,
    },
    {
      name: 'options that are not valid',
      head: [`POST /api/upload?format=%00&max_width=-1&strip_exif=maybe HTTP/1.1`, length(good)],
      body: all(good),
      status: 400,
    },
  ];
}

/** Sends a request over a socket of its own and reads the answer, or until the server closes; at most `limitMs`. */
export async function sendRaw(url: string, request: HostileRequest, limitMs: number): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const startedAt = performance.now();
  const socket = connect(Number(port), hostname);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let received = '';
  let sent = 0;
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    received += text;
    if (isWhole(received)) socket.destroy();
  });
  // A server that has answered may reset the connection on which the rest still comes.
  socket.on('error', () => {});
  socket.on('close', () => resolve());
  const timer = setTimeout(() => socket.destroy(new Error('no answer')), limitMs);
  socket.write(`${[...request.head, 'Host: localhost'].join('\r\n')}\r\n\r\n`);
  for (const piece of request.body()) {
    if (received !== '' || socket.destroyed) break;
    sent += piece.length;
    if (!socket.write(piece)) await Promise.race([drained(socket), closed]);
  }
  if (request.hangUp && !socket.destroyed) socket.end();
  await closed;
  clearTimeout(timer);
  const ms = performance.now() - startedAt;
  const status = /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1];
  const body = received.slice(received.indexOf('\r\n\r\n') + 4);
  return { status: status === undefined ? null : Number(status), body, sent, ms };
}

function drained(socket: ReturnType<typeof connect>): Promise<void> {
  return new Promise((resolve) => socket.once('drain', () => resolve()));
}

/** Bun keeps a connection open whose request it has not read to its end. */
function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, end + 2))?.[1];
  return end >= 0 && length !== undefined && received.length >= end + 4 + Number(length);
}
