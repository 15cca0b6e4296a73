import { expect, test } from 'bun:test';
import { openingReader } from '../../src/gateway/opening.ts';

const read = (text: string) => openingReader()(Buffer.from(text, 'latin1'));

test('the head of a GET or HEAD may be sent to several proxies', () => {
  const head = 'GET / HTTP/1.1\r\nHost: example.com\r\n\r\n';
  expect(read(head)).toEqual({ kind: 'request', bytes: head.length, method: 'GET' });
  expect(read(`${head}GET /next`)).toEqual({ kind: 'request', bytes: head.length, method: 'GET' });
  expect(read(head.replace('GET', 'HEAD'))).toMatchObject({ kind: 'request', method: 'HEAD' });
});

test.each([
  ['a POST', 'POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1\r\n\r\nx'],
  ['a GET with a body', 'GET / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1\r\n\r\nx'],
  ['a WebSocket', 'GET / HTTP/1.1\r\nHost: example.com\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
])('%s is sent once', (_name, text) => {
  expect(read(text)).toEqual({ kind: 'other' });
});

test('the beginning of a head is waited for', () => {
  expect(read('GET / HTTP/1.1\r\nHost: exa')).toEqual({ kind: 'partial' });
});
