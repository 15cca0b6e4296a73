import { PNG } from '../servers/running-server.ts';

/** A request before it is written as bytes. */
interface Draft {
  method: string;
  target: string;
  version: string;
  headers: string[];
  body: Buffer;
}

type Random = () => number;

const ID = 'AAAAAAAAAAAA';
/** Most are not pictures: a conversion that its client gives up costs a process, and this is about the reading of requests. */
const FILES = [
  Buffer.from(PNG),
  ...Array.from({ length: 40 }, () => Buffer.from('no picture at all, but of some length')),
];
const FORM = 'multipart/form-data; boundary=xx';

const part = (head: string, content: Buffer | string) =>
  Buffer.concat([Buffer.from(`--xx\r\n${head}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')]);
const multipart = (file: Buffer) =>
  Buffer.concat([
    part('Content-Disposition: form-data; name="format"', 'png'),
    part('Content-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: image/png', file),
    Buffer.from('--xx--\r\n'),
  ]);

const get = (target: string, ...headers: string[]): Draft => draft('GET', target, headers, '');
function draft(method: string, target: string, headers: string[], body: Buffer | string): Draft {
  const bytes = Buffer.from(body);
  const length = bytes.length > 0 || method === 'POST' ? [`Content-Length: ${bytes.length}`] : [];
  return {
    method,
    target,
    version: 'HTTP/1.1',
    headers: ['Host: localhost', ...headers, ...length],
    body: bytes,
  };
}

/** Well-formed requests that reach every kind of reading: paths, queries, ranges, JSON, forms, files, chunks. */
const SEEDS: readonly ((file: Buffer) => Draft)[] = [
  () => get('/livez'),
  () => get('/'),
  () => get('/api/v1/proxies?limit=3&protocol=http&format=text'),
  () => get('/api/search?q=%C3%A9&page=2'),
  () => get('/api/export?format=csv'),
  () => get(`/i/${ID}.webp?w=320`, 'Range: bytes=0-99', 'If-None-Match: "x"'),
  () => get(`/i/${ID}`, 'Accept: text/html', 'Cookie: picpool_image=1.x'),
  () => get(`/a/${ID}?page=2`, 'Accept: text/html', `Cookie: picpool_image_${ID}=9.x`),
  () => get(`/a/${ID}.zip`),
  () => get(`/api/albums/${ID}?per_page=5`),
  () =>
    draft(
      'PATCH',
      `/api/albums/${ID}`,
      ['Content-Type: application/json', 'X-Album-Token: x'],
      `{"images":["${ID}"]}`,
    ),
  () => get('/metrics', 'Authorization: Bearer x'),
  () => draft('HEAD', '/api/list', [], ''),
  () =>
    draft('OPTIONS', '/api/upload', ['Origin: https://a.example', 'Access-Control-Request-Method: POST'], ''),
  () => draft('DELETE', `/api/delete/${ID}?token=x`, [], ''),
  () => draft('POST', `/i/${ID}`, ['Content-Type: application/x-www-form-urlencoded'], 'password=tea'),
  () =>
    draft('POST', '/api/test_proxy_quick', ['Content-Type: application/json'], '{"ip":"10.0.0.1","port":80}'),
  () => draft('POST', '/api/proxy/1/report', ['Content-Type: application/json'], '{"ok":false}'),
  (file) => draft('POST', '/api/upload?format=png', ['Content-Type: image/png'], file),
  (file) => draft('POST', '/api/upload', [`Content-Type: ${FORM}`], multipart(file)),
  (file) => chunked(draft('POST', '/api/upload', [], file), '', ''),
  (file) =>
    chunked(
      draft('POST', '/api/upload', [`Content-Type: ${FORM}`], multipart(file)),
      ';x=y',
      'X-Trailer: 1\r\n',
    ),
];

function chunked(request: Draft, extension: string, trailer: string): Draft {
  const { body } = request;
  const half = Math.ceil(body.length / 2);
  const pieces = [body.subarray(0, half), body.subarray(half)].flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}${extension}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ]);
  const headers = request.headers.filter((line) => !line.startsWith('Content-Length'));
  return {
    ...request,
    headers: [...headers, 'Transfer-Encoding: chunked'],
    body: Buffer.concat([...pieces, Buffer.from(`0\r\n${trailer}\r\n`)]),
  };
}

const METHODS = [
  'get',
  'PUT',
  'PATCH',
  'TRACE',
  'CONNECT',
  'BREW',
  '',
  ' GET',
  'G\tET',
  'GET\0',
  'A'.repeat(300),
];
const VERSIONS = [
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/1.10',
  'http/1.1',
  'HTTP/1.1 ',
  'HTP/1.1',
  '',
  'HTTP/1.1\t',
];
const TARGETS = [
  '*',
  '//',
  '/./../..//etc/passwd',
  '/%00',
  '/%',
  '/%zz',
  '/%ff%fe',
  '/%2e%2e/%2e%2e/',
  'http://other.example/livez',
  'http://[::1/livez',
  'other.example:443',
  'livez',
  '/\u00e9',
  '/a b',
  '/livez#x',
  '/livez?a=1?b=2&&=&%',
  `/${'a'.repeat(9000)}`,
  `/api/search?q=${'%F0%9F%98%80'.repeat(400)}`,
  `/api/v1/proxies?${'limit=1&'.repeat(500)}`,
  '/i/../../x',
  `/i/${ID}.webp?w=-1`,
  '/api/list?cursor=%00&page=99999999999999999999',
];
const HEADERS = [
  'Content-Length: -1',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 0x5',
  'Content-Length: 1e3',
  'Content-Length: 99999999999999999999',
  'Content-Length: ',
  'Content-Length: 4',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: CHUNKED, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding:\tchunked ',
  'Transfer-Encoding : chunked',
  'Host: a b',
  'Host: [::1',
  'Host: a:99999',
  'Host:',
  'Host: a\r\nHost: b',
  'Host: \u00ff.example',
  'Connection: close',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Expect: 100-continue',
  'Expect: a miracle',
  'Range: bytes=-',
  'Range: bytes=9-1,-5,0-0',
  `Range: bytes=${'0-0,'.repeat(200)}1-1`,
  'If-Modified-Since: tomorrow',
  'If-None-Match: "',
  'Accept-Encoding: \u0001',
  'Authorization: Basic ====',
  'Authorization: Bearer \u00fc',
  'Cookie: =;;=; picpool_image=; picpool_image=9.x; picpool_image_=; picpool_image_x=9.x',
  'X-Album-Token: \u00ff',
  `Cookie: ${'a=b; '.repeat(800)}`,
  'Origin: null',
  'Origin: http://[',
  'X-Forwarded-For: , ,, 1.2.3.4, [::1]:5, "',
  'Forwarded: for="[;by=',
  'X-Image-Password: \u00ff\u00fe',
  'Content-Type: multipart/form-data',
  'Content-Type: multipart/form-data; boundary=',
  `Content-Type: multipart/form-data; boundary=${'b'.repeat(300)}`,
  'Content-Type: multipart/form-data; boundary="a\\"b',
  'Content-Type: application/json; charset=utf-7',
  'Content-Encoding: gzip',
  'Last-Event-ID: \u0000',
  'no colon at all',
  ': no name',
  'X Y: blank in the name',
  'X-Fold: a\r\n b',
  'X-Nul: a\0b',
  'X-CR: a\rb',
  `X-Long: ${'z'.repeat(20_000)}`,
  Array.from({ length: 150 }, (_, n) => `X-${n}: ${n}`).join('\r\n'),
];
const CHUNKS = [
  '0\r\n\r\n',
  'zz\r\n',
  '-1\r\nx\r\n',
  '00000000000000000005\r\nabcde\r\n0\r\n\r\n',
  'fffffffffffffffff\r\n',
  '5 \r\nabcde\r\n0\r\n\r\n',
  '5\nabcde\n0\n\n',
  '5;a="\r\nabcde\r\n0\r\n\r\n',
  '5\r\nabcdefgh\r\n0\r\n\r\n',
  '1\r\n{\r\n0\r\nHost: x\r\n\r\n',
  '0\r\nContent-Length: 5\r\n\r\n',
];
const PARTS = [
  '--xx',
  '--xx--',
  '\r\n\r\n',
  'Content-Disposition: form-data; name=',
  'name="image"',
  "filename*=UTF-8''%ff",
  'filename="',
  'Content-Type: text/html',
  'Content-Transfer-Encoding: base64',
  '\0',
  '--xx\r\n--xx\r\n',
  '\u00ff\u00fe',
];

/** Makes one case after the other: a request of the seeds, changed in up to four places, as bytes. */
export function createFuzzCases(random: Random): () => Buffer {
  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(items: readonly T[]): T => {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };
  const splice = (bytes: Buffer, piece: Buffer): Buffer => {
    const at = below(bytes.length + 1);
    const gone = random() < 0.5 ? 0 : below(Math.min(40, bytes.length - at + 1));
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + gone)]);
  };
  const noise = () => Buffer.from(Array.from({ length: 1 + below(8) }, () => below(256)));

  const somewhere = ({ headers }: Draft) => below(headers.length + 1);
  const changes: ((request: Draft) => Partial<Draft>)[] = [
    () => ({ method: pick(METHODS) }),
    () => ({ version: pick(VERSIONS) }),
    () => ({ target: pick(TARGETS) }),
    ({ target }) => ({ target: splice(Buffer.from(target), noise()).toString('latin1') }),
    (request) => ({ headers: request.headers.toSpliced(somewhere(request), 0, pick(HEADERS)) }),
    (request) => ({ headers: request.headers.toSpliced(somewhere(request), 0, pick(HEADERS)) }),
    (request) => ({ headers: request.headers.toSpliced(somewhere(request), 1) }),
    ({ headers }) => ({ headers: [...headers, ...headers.slice(below(headers.length + 1)).slice(0, 1)] }),
    () => ({ body: Buffer.from(pick(CHUNKS)) }),
    ({ body }) => ({ body: splice(body, Buffer.from(pick(PARTS), 'latin1')) }),
    ({ body }) => ({ body: splice(body, noise()) }),
    ({ body }) => ({ body: body.subarray(0, below(body.length + 1)) }),
  ];

  function one(): Buffer {
    let request = pick(SEEDS)(pick(FILES));
    for (let left = below(4); left > 0; left--) request = { ...request, ...pick(changes)(request) };
    const line = [request.method, request.target, request.version].join(random() < 0.98 ? ' ' : '\t');
    const end = random() < 0.97 ? '\r\n' : '\n';
    const head = Buffer.from([line, ...request.headers, '', ''].join(end), 'latin1');
    const bytes = Buffer.concat([head, request.body]);
    return random() < 0.1 ? splice(bytes, noise()) : bytes;
  }

  // Some come two at a time, as a client sends that does not wait.
  return () => (random() < 0.05 ? Buffer.concat([one(), one()]) : one());
}
