import { expect, test } from 'bun:test';
import { BUILT_IN_JUDGES, BUILT_IN_WITNESSES } from '../../src/proxy/check/built-in.ts';
import { readAddress, readEcho } from '../../src/proxy/check/echo.ts';
import { isProven, judgeAnswer, proofOf } from '../../src/proxy/check/judge.ts';

const TOKEN = '0123456789abcdef';

function ask(headers: Record<string, string>, query = `?token=${TOKEN}`, secret?: string) {
  const url = new URL(`http://judge.test/api/judge${query}`);
  return judgeAnswer({
    url,
    headers: new Headers(headers),
    peer: '203.0.113.9',
    ...(secret !== undefined && { secret }),
  });
}

test('a judge echoes token, address and headers', () => {
  expect(ask({ Via: '1.1 proxy', Accept: '*/*' })).toEqual({
    token: TOKEN,
    address: '203.0.113.9',
    headers: { via: '1.1 proxy', accept: '*/*' },
  });
});

test('a judge echoes neither credentials nor invalid tokens', () => {
  expect(ask({ Cookie: 'a=b', Authorization: 'Bearer x' }).headers).toEqual({});
  for (const query of ['', '?token=', '?token=<script>', `?token=${'a'.repeat(129)}`]) {
    expect(ask({}, query).token).toBe('');
  }
});

test('a response never exceeds what a checker reads', () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-${n}`, '"'.repeat(2_000)]));
  const answer = ask({ ...many, [`x-${'n'.repeat(500)}`]: '1' }, undefined, 'secret');
  expect(JSON.stringify(answer).length).toBeLessThan(16 * 1024);
  expect(Object.keys(answer.headers).length).toBe(32);
});

test('a proof is valid only for the whole response and its secret', () => {
  const answer = ask({ via: 'x' }, undefined, 'secret');
  expect(isProven(answer, ['secret'])).toBe(true);
  expect(isProven(answer, ['other'])).toBe(false);
  expect(isProven({ ...answer, address: '198.51.100.7' }, ['secret'])).toBe(false);
  expect(isProven({ ...answer, headers: {} }, ['secret'])).toBe(false);
  expect(isProven({ ...answer, proof: '' }, ['secret'])).toBe(false);
  expect(proofOf(answer, 'secret')).not.toBe(proofOf(answer, 'other'));
});

test('the response of our own judge is read with its proof', () => {
  const body = JSON.stringify(ask({ 'x-b': '1', '7': 'number-like' }, undefined, 'secret'));
  expect(readEcho(body, TOKEN, ['secret'])).toMatchObject({
    address: '203.0.113.9',
    proven: true,
    format: 'json',
  });
  expect(readEcho(body, TOKEN, ['other'])).toMatchObject({ proven: false });
  expect(readEcho(body, TOKEN)).toMatchObject({ proven: false });
});

test('the response of httpbin is read', () => {
  const body = JSON.stringify({
    args: { token: TOKEN },
    headers: { Host: 'httpbin.org', Via: '1.1 proxy' },
    origin: '198.51.100.7, 203.0.113.9',
    url: `http://httpbin.org/get?token=${TOKEN}`,
  });
  expect(readEcho(body, TOKEN)).toMatchObject({
    address: '203.0.113.9',
    chain: '198.51.100.7',
    headers: { host: 'httpbin.org', via: '1.1 proxy' },
  });
});

test('lists of values, as from go-httpbin, are read', () => {
  const body = JSON.stringify({
    args: { token: [TOKEN] },
    headers: { Via: ['a', 'b'] },
    origin: '203.0.113.9:4711',
  });
  expect(readEcho(body, TOKEN)).toMatchObject({ address: '203.0.113.9', headers: { via: 'a, b' } });
});

test('what a judge shows that is asked by HTTP/2 is read', () => {
  const headers = { ':authority': 'judge.example', via: '1.1 proxy' };
  expect(readEcho(JSON.stringify({ token: TOKEN, address: '203.0.113.9', headers }), TOKEN)).toMatchObject({
    headers,
  });
});

test('the page of azenv is read', () => {
  const body = `<html><head><title>AZ Environment variables</title></head><body><pre>
HTTP_HOST = azenv.net
HTTP_X_FORWARDED_FOR = 198.51.100.7<br>
REMOTE_ADDR = 203.0.113.9
REQUEST_URI = /?token=${TOKEN}
</pre></body></html>`;
  expect(readEcho(body, TOKEN)).toMatchObject({
    format: 'environment',
    address: '203.0.113.9',
    headers: { host: 'azenv.net', 'x-forwarded-for': '198.51.100.7' },
  });
  const injected = body.replace('</body>', '<script src=x></script></body>');
  expect(readEcho(injected, TOKEN)?.frame).not.toBe(readEcho(body, TOKEN)?.frame);
});

test('nothing else counts as a response', () => {
  for (const body of [
    '',
    TOKEN,
    `{"token":"${TOKEN}"}`,
    `{"token":"${TOKEN}","address":"10.0.0.256","headers":{}}`,
    `{"token":"${TOKEN}","address":"localhost","headers":{}}`,
    `{"token":"other","address":"203.0.113.9","headers":{"x":"${TOKEN}"}}`,
    `{"token":"${TOKEN}","address":"203.0.113.9","headers":{}}<script>`,
    `[{"token":"${TOKEN}","address":"203.0.113.9","headers":{}}]`,
    `{"a":${'['.repeat(8_000)}"${TOKEN}"`,
    `{"token":"${TOKEN}","address":"203.0.113.9","headers":{"via a":"b"}}`,
    `{"token":"${TOKEN}","address":"203.0.113.9","headers":{"${'x'.repeat(65)}":"b"}}`,
    `HTTP_${'X'.repeat(65)} = b\nREMOTE_ADDR = 203.0.113.9\n${TOKEN}`,
    `REMOTE_ADDR = unknown\n${TOKEN}`,
    `<html>REMOTE_ADDR is 203.0.113.9 ${TOKEN}</html>`,
  ]) {
    expect(readEcho(body, TOKEN)).toBeNull();
  }
});

test('an address may have brackets or a port', () => {
  expect(readAddress('203.0.113.9:80')).toBe('203.0.113.9');
  expect(readAddress('[2001:db8::7]:443')).toBe('2001:db8::7');
  expect(readAddress('2001:DB8::7')).toBe('2001:db8::7');
  expect(readAddress('::ffff:203.0.113.9')).toBe('203.0.113.9');
  expect(readAddress('203.0.113')).toBeNull();
  expect(readAddress('judge.test:80')).toBeNull();
});

test('pages that show only an address are read', () => {
  expect(readEcho('203.0.113.9\n', null)).toMatchObject({ format: 'address', address: '203.0.113.9' });
  expect(readEcho('2001:DB8::7', null)).toMatchObject({ address: '2001:db8::7' });
  expect(readEcho('{"ip":"203.0.113.9","country":"XX"}', null)).toMatchObject({
    format: 'json',
    address: '203.0.113.9',
    headers: null,
  });
  expect(readEcho('203.0.113.9, 203.0.113.10', null)).toBeNull();
  expect(readEcho('<html>203.0.113.9</html>', null)).toBeNull();
});

test('the trace page of a large network is read', () => {
  const body =
    'fl=12f3\nh=judge.test\nip=203.0.113.9\nts=1.2\nvisit_scheme=https\nuag=curl/8.14.1\ntls=TLSv1.3\n';
  expect(readEcho(body, null)).toMatchObject({ format: 'trace', address: '203.0.113.9', headers: null });
  expect(readEcho(`${body}<script>`, null)).toBeNull();
});

test('the frame of a response is the same for other values, and differs for another page', () => {
  const azenv = (title: string, port: number) =>
    `<title>${title}</title>\nHTTP_VIA = x\nREMOTE_ADDR = 203.0.113.9\nREMOTE_PORT = ${port}\nat 12:${port}\n${TOKEN}`;
  const frameOf = (body: string) => readEcho(body, TOKEN)?.frame;
  expect(frameOf(azenv('a', 10))).toBe(frameOf(azenv('a', 20)));
  expect(frameOf(azenv('a', 10))).not.toBe(frameOf(azenv('b', 10)));
  const json = (indent: number, url: string) =>
    JSON.stringify({ args: {}, headers: {}, origin: '203.0.113.9', url: url + TOKEN }, null, indent);
  expect(frameOf(json(2, 'a'))).toBe(frameOf(json(2, 'b')));
  expect(frameOf(json(2, 'a'))).not.toBe(frameOf(json(0, 'a')));
});

test('the built-in judges and witnesses are on many hosts, and of both kinds', () => {
  const hosts = (urls: readonly string[], scheme: string) =>
    new Set(
      urls.map((url) => new URL(url)).flatMap(({ protocol, host }) => (protocol === scheme ? host : [])),
    );
  expect(hosts(BUILT_IN_JUDGES, 'https:').size).toBeGreaterThanOrEqual(8);
  expect(hosts(BUILT_IN_JUDGES, 'http:').size).toBeGreaterThanOrEqual(5);
  expect(hosts(BUILT_IN_WITNESSES, 'http:').size).toBe(BUILT_IN_WITNESSES.length);
});
