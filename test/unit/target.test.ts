import { describe, expect, test } from 'bun:test';
import { createTargets, pathOf } from '../../src/http/target.ts';

/** A request as a runtime passes it on: whatever is in `Host`, and a URL made of it. */
function received(url: string, host: string | null): Request {
  const request = new Request('http://placeholder/', host === null ? {} : { headers: { host } });
  return Object.defineProperty(request, 'url', { value: url });
}

const LONGEST = 300;
const labels = 'a.'.repeat(LONGEST / 2 - 1);

describe('the host of a request', () => {
  test.each([
    ['a name', 'localhost'],
    ['a name with a port', 'a.example:8080'],
    ['a name that ends with a dot', 'a.example.'],
    ['a name of one letter', 'a'],
    ['a name with an underscore', '_dmarc.my_server'],
    ['an IPv4 address', '127.0.0.1:80'],
    ['an IPv6 address', '[::1]:80'],
    ['an empty port', 'a:'],
    ['a name of the greatest length', `${labels}ab`],
  ])('may be %s', (_name, host) => {
    const request = received(`http://${host}/x?y`, host);
    expect(createTargets().withAuthority(request)).toBe(request);
  });

  test.each([
    ['empty', ''],
    ['a name with a blank', 'a b'],
    ['two ports', 'a:80:90'],
    ['an impossible port', 'a:99999'],
    ['an impossible address', '256.1.1.1'],
    ['an address that has no end', '[::1'],
    ['with a user', 'user@a'],
    ['with a query', 'a?b'],
    ['with an escape', '%61'],
    ['longer than any name', `${labels}abc`],
  ])('must not be %s', (_name, host) => {
    const targets = createTargets();
    expect(targets.withAuthority(received('http://localhost/x', host))).toBeNull();
    expect(targets.withAuthority(received(`http://${host}/x`, 'localhost'))).toBeNull();
    expect(targets.withAuthority(received(`http://${host}/x`, null))).toBeNull();
  });

  test('may be missing only in HTTP/1.0, which then means localhost', () => {
    const targets = createTargets();
    expect(targets.withAuthority(received('/x?y', null))?.url).toBe('http://localhost/x?y');
    expect(targets.withAuthority(received('/x?y', 'a'))).toBeNull();
  });

  test('may differ from the host of an absolute URL', () => {
    const request = received('http://a.example/x', 'b.example');
    expect(createTargets().withAuthority(request)).toBe(request);
  });

  test.each([
    ['another scheme', 'ftp://localhost/x'],
    ['no path', 'http://localhost'],
    ['no host', 'http:///x'],
  ])('is refused with a URL of %s', (_name, url) => {
    expect(createTargets().withAuthority(received(url, 'localhost'))).toBeNull();
  });

  test('is checked again if the last request matches it only in part', () => {
    const targets = createTargets();
    const good = received('http://a.example/x', 'a.example');
    expect(targets.withAuthority(good)).toBe(good);
    expect(targets.withAuthority(received('http://a.example/x', 'a b'))).toBeNull();
    for (const other of ['a.exampl b', 'a.example b', 'a.example@b']) {
      expect(targets.withAuthority(received(`http://${other}/x`, 'a.example'))).toBeNull();
    }
    expect(targets.withAuthority(good)).toBe(good);
  });
});

test('the path of a URL ends before its query', () => {
  expect(['http://a/', 'http://a/b/c', 'http://a/b?c=/d', 'https://a:1/?'].map(pathOf)).toEqual([
    '/',
    '/b/c',
    '/b',
    '/',
  ]);
});
