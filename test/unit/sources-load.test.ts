import { describe, expect, test } from 'bun:test';
import { ConfigError } from '../../src/errors.ts';
import { CATALOGUE, PROVIDERS } from '../../src/proxy/sources/catalogue.ts';
import { loadSources } from '../../src/proxy/sources/load.ts';

const noFile = () => Promise.reject(new Error('ENOENT'));

async function faults(setting: string, text?: string): Promise<string[]> {
  const error = await loadSources(setting, text === undefined ? noFile : async () => text).catch(
    (fault) => fault,
  );
  if (!(error instanceof ConfigError)) throw new Error('was accepted');
  expect(error.faults.every(({ variable }) => variable === 'PROXY_SOURCES')).toBe(true);
  return error.faults.map(({ message }) => message);
}

test('a list is not read to find out that it is one', async () => {
  const [source] = await loadSources('/dev/zero');
  expect(source?.url).toBe('file:///dev/zero');
  expect(await faults('/', undefined)).toEqual(['names a file that cannot be read: /']);
  expect(await faults(',')).toEqual(['must name at least one, not ","']);
});

describe('the built-in catalogue', () => {
  test('has lists of at least 25 providers, for every protocol', async () => {
    expect(await loadSources(undefined, noFile)).toBe(CATALOGUE);
    expect(await loadSources(' ', noFile)).toBe(CATALOGUE);
    expect(PROVIDERS.length).toBeGreaterThanOrEqual(25);
    for (const protocol of ['http', 'https', 'socks4', 'socks5'] as const) {
      expect(CATALOGUE.filter((source) => source.protocol === protocol).length).toBeGreaterThan(5);
    }
  });

  test('has each list once, with a full URL', () => {
    expect(new Set(CATALOGUE.map(({ name }) => name)).size).toBe(CATALOGUE.length);
    expect(new Set(CATALOGUE.map(({ url }) => url)).size).toBe(CATALOGUE.length);
    for (const { url } of CATALOGUE) {
      expect(URL.canParse(url)).toBe(true);
      expect(url).not.toContain('{');
    }
  });

  test('reads lists at their origin, not from caches, old addresses or discontinued providers', () => {
    const urlsOf = (provider: string) =>
      CATALOGUE.filter(({ name }) => name.startsWith(`${provider}-`)).map(({ url }) => url);
    const raw = 'https://raw.githubusercontent.com';
    const kinds = ['http', 'socks4', 'socks5', 'https'];
    expect(urlsOf('gfpcom')).toEqual(
      kinds.map((kind) => `${raw}/wiki/gfpcom/free-proxy-list/lists/${kind}.txt`),
    );
    expect(urlsOf('proxyscrape')).toEqual(
      kinds.map((kind) => `${raw}/proxyscrape/free-proxy-list/main/proxies/protocols/${kind}/data.csv`),
    );
    expect(CATALOGUE.filter(({ url }) => /\/cdn\.|tuanminpay/i.test(url))).toEqual([]);
  });
});

describe('a list of URLs', () => {
  test('gives names, formats and protocols if the URL shows them', async () => {
    const lists = [
      ['https://lists.example/socks5.txt', 'lists.example/socks5.txt', 'lines', 'socks5'],
      ['http://lists.example:8080/http_proxies.csv', 'lists.example:8080/http_proxies.csv', 'csv', 'http'],
      ['https://lists.example/all.ndjson', 'lists.example/all.ndjson', 'json', null],
      ['https://lists.example/api?type=socks4&format=json', 'lists.example/api', 'json', 'socks4'],
      ['https://lists.example/http-and-socks5.html', 'lists.example/http-and-socks5.html', 'html', null],
      ['file:///var/lists/https.txt', '/var/lists/https.txt', 'lines', 'https', true],
      ['https://lists.example/socks5.txt', 'lists.example/socks5.txt (2)', 'lines', 'socks5'],
      ['http://u:12/secret@lists.example/a', 'lists.example/a', 'lines', null],
      ['http://u:12/secret@lists.example:99999/a', 'http://***@lists.example:99999/a', 'lines', null],
    ] as const;
    expect<unknown>(await loadSources(` ${lists.map(([url]) => url).join(' , ')}, `, noFile)).toEqual(
      lists.map(([url, name, format, protocol, logins = false]) => ({ name, url, format, protocol, logins })),
    );
  });

  test('reports each invalid item', async () => {
    expect(await faults('https://a.example/,ftp://b.example/,c')).toEqual([
      'must be URLs (http:, https: or file:), but has "ftp://b.example/"',
      'names a file that cannot be read: c',
    ]);
  });

  test('may have the built-in lists beside your own, by URL or by path', async () => {
    const read = async (path: string) => (path === '/etc/mine.txt' ? '192.0.2.1:80\n' : noFile());
    const sources = await loadSources('builtin,file:///var/paid.txt,/etc/mine.txt', read);
    expect(sources.slice(0, CATALOGUE.length)).toEqual([...CATALOGUE]);
    expect(sources.slice(CATALOGUE.length)).toMatchObject([
      { name: '/var/paid.txt', url: 'file:///var/paid.txt', logins: true },
      { name: '/etc/mine.txt', url: 'file:///etc/mine.txt', format: 'lines', logins: true },
    ]);
    const ipv6 = await loadSources('/etc/mine.txt', async () => '[2001:db8::1]:8080\n');
    expect(ipv6).toMatchObject([{ name: '/etc/mine.txt', logins: true }]);
    expect(await faults('builtin,builtin')).toContain('names two lists "geonode"');
  });
});

describe('a JSON file', () => {
  test('gives its sources; files and marked ones with logins', async () => {
    const sources = [
      { name: 'a', url: 'https://a.example/x', format: 'csv', protocol: 'socks4' },
      { name: 'b', url: 'https://b.example/socks5.txt' },
      { name: 'c', url: 'https://b.example/socks5.txt', protocol: null, logins: true },
      { name: 'd', url: 'file:///var/lists/own', logins: false },
      { name: 'e', url: 'file:///var/lists/own' },
    ];
    expect(await loadSources('/etc/sources.json', async () => `\ufeff${JSON.stringify(sources)}`)).toEqual([
      { ...sources[0], logins: false },
      { ...sources[1], format: 'lines', protocol: 'socks5', logins: false },
      { ...sources[2], format: 'lines' },
      { ...sources[3], format: 'lines', protocol: null },
      { ...sources[4], format: 'lines', protocol: null, logins: true },
    ] as never);
  });

  test('reports every fault by its path', async () => {
    const text = JSON.stringify([
      { name: '', url: 'ftp://x/', format: 'xml', protocol: 'quic', colour: 'red' },
      'text',
      { name: 'b' },
    ]);
    const messages = await faults('/etc/sources.json', text);
    expect(messages.toSorted()).toEqual([
      '/0/colour is not a field of a source',
      '/0/format must be one of lines, csv, json, html',
      '/0/name must be a text of 1 to 100 characters',
      '/0/protocol must be one of http, https, socks4, socks5, or null',
      '/0/url must be a URL that begins with http:, https: or file:',
      '/1 must be an object with name and url',
      '/2/url must be a URL that begins with http:, https: or file:',
    ]);
  });

  test('reports duplicate names and invalid URLs', async () => {
    const text = JSON.stringify([
      { name: 'a', url: 'https://a.example/' },
      { name: 'a', url: 'https://' },
    ]);
    expect(await faults('s.json', text)).toEqual([
      '/1/url must be a URL that begins with http:, https: or file:',
      '/1/name is taken twice: "a"',
    ]);
  });

  test('that cannot be used says why', async () => {
    expect(await faults('/none.json')).toEqual(['names a file that cannot be read: /none.json']);
    expect((await faults('/x.json', '[{'))[0]).toStartWith('names a file that is not JSON: ');
    for (const text of ['{}', '[]', '7']) {
      expect(await faults('/x.json', text)).toEqual([
        'must be a file with an array of sources; a list of proxies in JSON is named by its URL, file:///...',
      ]);
    }
  });
});
