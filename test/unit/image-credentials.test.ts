import { expect, test } from 'bun:test';
import { credentialsOf } from '../../src/image/access/credentials.ts';

const read = (headers: Record<string, string> = {}, query = '') =>
  credentialsOf(new Request(`http://host/i/abc.png${query}`, { headers }));
const password = (...asked: Parameters<typeof read>) => read(...asked).password;

test('a request without any has none', () => {
  expect(read()).toEqual({ password: null, cookie: null });
  expect(password({ 'x-image-password': '' }, '?password=&x=1')).toBeNull();
});

test('they are taken from header and query, the most explicit first; the cookie stands apart', () => {
  const headers = { 'x-image-password': 'first', cookie: 'a=b; c=d' };
  expect(read(headers, '?w=1&password=second')).toEqual({ password: 'first', cookie: 'a=b; c=d' });
});

test('a header is read as the UTF-8 that was typed, or as the Latin-1 that it is', () => {
  const bytes = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding).toString('latin1');
  expect(password({ 'x-image-password': bytes('grün 🍵', 'utf8') })).toBe('grün 🍵');
  expect(password({ 'x-image-password': bytes('grün', 'latin1') })).toBe('grün');
  expect(password({ 'x-image-password': bytes('\ufeffa', 'utf8') })).toBe('\ufeffa');
});

test('a query is read by its rules', () => {
  expect(password({}, '?password=gr%C3%BCn+tea%26more')).toBe('grün tea&more');
  expect(password({}, '?Password=no')).toBeNull();
});
