import { expect, test } from 'bun:test';
import { credentialsOf } from '../../src/image/access/credentials.ts';

const read = (headers: Record<string, string> = {}, query = '') =>
  credentialsOf(new Request(`http://host/i/abc.png${query}`, { headers }));
const passwords = (...asked: Parameters<typeof read>) => read(...asked).passwords;

test('a request without any has none', () => {
  expect(read()).toEqual({ passwords: [], cookie: null });
  expect(passwords({ 'x-image-password': '' }, '?password=&x=1')).toEqual([]);
});

test('they are taken from header and query, the most explicit first; the cookie stands apart', () => {
  const headers = { 'x-image-password': 'first', cookie: 'a=b; c=d' };
  expect(read(headers, '?w=1&password=second')).toEqual({
    passwords: ['first', 'second'],
    cookie: 'a=b; c=d',
  });
});

test('a header is read as the UTF-8 that was typed, or as the Latin-1 that it is', () => {
  const bytes = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding).toString('latin1');
  expect(passwords({ 'x-image-password': bytes('grün 🍵', 'utf8') })).toEqual(['grün 🍵']);
  expect(passwords({ 'x-image-password': bytes('grün', 'latin1') })).toEqual(['grün']);
  expect(passwords({ 'x-image-password': bytes('\ufeffa', 'utf8') })).toEqual(['\ufeffa']);
});

test('a query is read by its rules', () => {
  expect(passwords({}, '?password=gr%C3%BCn+tea%26more')).toEqual(['grün tea&more']);
  expect(passwords({}, '?Password=no')).toEqual([]);
});
