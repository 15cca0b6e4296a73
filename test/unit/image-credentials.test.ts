import { describe, expect, test } from 'bun:test';
import { credentialsOf } from '../../src/image/access/credentials.ts';

const read = (headers: Record<string, string> = {}, query = '') =>
  credentialsOf(new Request(`http://host/i/abc.png${query}`, { headers }));
const basic = (text: string | Buffer) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const passwords = (...asked: Parameters<typeof read>) => read(...asked).passwords;

test('a request without any has none', () => {
  expect(read()).toEqual({ passwords: [], cookie: null });
  expect(passwords({ 'x-image-password': '' }, '?password=&x=1')).toEqual([]);
});

test('they are taken from header, query and Basic, the most explicit first; the cookie stands apart', () => {
  const headers = { ...basic('anybody:third'), 'x-image-password': 'first', cookie: 'a=b; c=d' };
  expect(read(headers, '?w=1&password=second')).toEqual({
    passwords: ['first', 'second', 'third'],
    cookie: 'a=b; c=d',
  });
});

describe('Basic', () => {
  test('has any user name, and a password that may hold colons', () => {
    expect(passwords(basic(':p:q'))).toEqual(['p:q']);
    expect(passwords(basic('user:tea time'))).toEqual(['tea time']);
    expect(passwords({ authorization: `bASIC ${Buffer.from('u:p').toString('base64')}` })).toEqual(['p']);
  });

  test('without a colon, without a password, or malformed is none', () => {
    expect(passwords(basic('password'))).toEqual([]);
    expect(passwords(basic('user:'))).toEqual([]);
    for (const authorization of ['Bearer dTpw', 'Basic', 'Basic dTpw extra', 'Basic d:Tpw', 'xBasic dTpw']) {
      expect(passwords({ authorization })).toEqual([]);
    }
  });

  test('is read as UTF-8, or as Latin-1 where it is not', () => {
    expect(passwords(basic('u:grün'))).toEqual(['grün']);
    expect(passwords(basic(Buffer.from('u:grün', 'latin1')))).toEqual(['grün']);
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
