import { describe, expect, test } from 'bun:test';
import type { Protocol } from '../../src/proxy/proxy.ts';
import { parse } from '../support/pool/source-parsing.ts';
import { words } from '../support/words.ts';

const one = (line: string, protocol: Protocol | null = 'http') => parse('lines', line, protocol).taken;

describe('a line is taken as', () => {
  test.each([
    ['8.8.8.1:8080', 'http://8.8.8.1:8080'],
    ['  8.8.8.1:8080  ', 'http://8.8.8.1:8080'],
    ['\ufeff8.8.8.1:8080', 'http://8.8.8.1:8080'],
    ['socks5://8.8.8.1:1080', 'socks5://8.8.8.1:1080'],
    ['SOCKS4://8.8.8.1:1080', 'socks4://8.8.8.1:1080'],
    ['socks5h://8.8.8.1:1080', 'socks5://8.8.8.1:1080'],
    ['socks4a://8.8.8.1:1080', 'socks4://8.8.8.1:1080'],
    ['https://8.8.8.1:443/', 'https://8.8.8.1:443'],
    ['"8.8.8.1:80",', 'http://8.8.8.1:80'],
    ['8.8.8.1:3128:Türkiye', 'http://8.8.8.1:3128'],
    ['8.8.8.1:3128:The Netherlands', 'http://8.8.8.1:3128'],
    ['8.8.8.1:3128:US', 'http://8.8.8.1:3128 US'],
    ['8.8.8.1:999 CO-N-S! +', 'http://8.8.8.1:999 CO'],
    ['8.8.8.1:999 ZZ-A', 'http://8.8.8.1:999'],
    ['http://8.8.8.1:80,US,Unknown', 'http://8.8.8.1:80 US'],
    ['8.8.8.1:80|?|?|?', 'http://8.8.8.1:80'],
    ['8.8.8.1:80 OK 0.3s', 'http://8.8.8.1:80'],
    ['8.8.8.1:80 USA', 'http://8.8.8.1:80'],
    ['8.8.8.1:80 us', 'http://8.8.8.1:80'],
    ['8.8.8.1:80\tDE', 'http://8.8.8.1:80 DE'],
    ['8.8.8.1 8080', 'http://8.8.8.1:8080'],
    ['socks5://8.8.8.1\t 1080\tDE', 'socks5://8.8.8.1:1080 DE'],
    ['[2606:4700::1] 8080', 'http://[2606:4700::1]:8080'],
    ['[2606:4700::1]:8080', 'http://[2606:4700::1]:8080'],
    ['socks5://[2606:4700:0:0:0:0:0:ABC]:1080 FR', 'socks5://[2606:4700::abc]:1080 FR'],
    ['8.8.8.0:1', 'http://8.8.8.0:1'],
    ['223.255.255.255:65535', 'http://223.255.255.255:65535'],
  ])('%j', (line, expected) => {
    expect(one(line)).toEqual([expected]);
  });
});

const own = (line: string) => parse('lines', line, null, false, true).taken;

describe("a line of the operator's own list is taken with its login as", () => {
  test.each([
    ['8.8.8.1:8080:user:pass', 'any://user:pass@8.8.8.1:8080'],
    ['8.8.8.1:8080:123:456:7 DE', 'any://123:456:7@8.8.8.1:8080 DE'],
    ['socks5://8.8.8.1:1080:user:p@ss', ''],
    ['user:pass@8.8.8.1:80', 'any://user:pass@8.8.8.1:80'],
    ['http:pass@8.8.8.1:80', 'any://http:pass@8.8.8.1:80'],
    ['http://user:pass@8.8.8.1:80', 'http://user:pass@8.8.8.1:80'],
    ['socks5h://user:p@ss@8.8.8.1:1080', 'socks5://user:p@ss@8.8.8.1:1080'],
    ['socks4://id@8.8.8.1:1080', 'socks4://id:@8.8.8.1:1080'],
    ['http://us%20er:p%3A%40%2F%C3%A9@8.8.8.1:80 DE', 'http://us er:p:@/é@8.8.8.1:80 DE'],
    ['http://user:100%@8.8.8.1:80', 'http://user:100%@8.8.8.1:80'],
    ['http://user:pass@[2606:4700::1]:80', 'http://user:pass@[2606:4700::1]:80'],
    ['8.8.8.1:8080', 'any://8.8.8.1:8080'],
    ['8.8.8.1:3128:The Netherlands', 'any://8.8.8.1:3128'],
  ])('%j', (line, expected) => {
    expect(own(line)).toEqual(expected === '' ? [] : [expected]);
  });
});

describe("a line of the operator's own list is not taken", () => {
  test.each([
    'http://:pass@8.8.8.1:80',
    'http://us%3Aer:pass@8.8.8.1:80',
    'http://user:pa%0d%0ass@8.8.8.1:80',
    `http://${'u'.repeat(256)}:pass@8.8.8.1:80`,
    `8.8.8.1:80:user:${'p'.repeat(256)}`,
    'http://user:pass@10.1.2.3:80',
    'http://user:pass@proxy:80',
    'Support by donations: bc1qxyz',
  ])('%j', (line) => {
    expect(own(line)).toEqual([]);
  });
});

test('a login in separate fields is only read from your own lists', () => {
  const list = '[{"ip":"8.8.8.1","port":80,"username":"user","password":"p:w"},{"ip":"8.8.8.2","port":80}]';
  expect(parse('json', list, 'http', false, true).taken).toEqual([
    'http://user:p:w@8.8.8.1:80',
    'http://8.8.8.2:80',
  ]);
  expect(parse('json', list, 'http')).toMatchObject({ taken: ['http://8.8.8.2:80'], rejected: 1 });
  const table = 'ip,port,username,password\n8.8.8.1,80,user,pass\n';
  expect(parse('csv', table, 'http', false, true).taken).toEqual(['http://user:pass@8.8.8.1:80']);
});

describe('a line is rejected', () => {
  test.each([
    'Array',
    'Support by donations: bc1qxyz',
    'Free proxies from example.com',
    ...words`
      8.8.8.1 8.8.8.1: 8.8.8.1:0 8.8.8.1:080 8.8.8.1:65536 8.8.8.1:99999 8.8.8.1:123456 8.8.8.1:-80
      8.8.8.1:80a 8.8.8.1:8080:8081 8.8.8.1:8080:user:pass 8.8.8.1:8080:user@host 8.8.8.1:80/path
      8.8.8.1:80-90 user:pass@8.8.8.1:80 http://user:pass@8.8.8.1:80 http://8.8.8.1:80@evil.example
      proxy.example.com:8080 http://proxy.example.com:8080 localhost:80 0.0.0.0:80 127.0.0.7:80
      10.1.2.3:80 192.168.0.1:80 100.64.0.1:80 169.254.169.254:80 224.0.0.1:80 255.255.255.255:80
      008.8.8.1:80 8.8.8.01:80 8.8.8.256:80 8.8.8.8.8:80 8.8.8:80 999.999.999.999:80 134744072:80
      0x8.8.8.8:80
    `,
    '8.8.8.8 :80',
    '8.8.8.8 ',
    '8.8.8.8 99999',
    '8.8.8.8 0.5',
    '8.8.8.8 80ms',
    ...words`
      [::1]:80 [::ffff:8.8.8.8]:80 [64:ff9b::808:808]:80 [fe80::1%eth0]:80 [2606:4700::1:80 []:80
      2606:4700::1:8080 hhysteria2://8.8.8.1:80 less://8.8.8.1:80 vmess://8.8.8.1:80 //8.8.8.1:80
      http:/8.8.8.1:80 http:8.8.8.1:80 8.8.8.1:80\0 8.8.8.1:\0 ８.8.8.1:80 <li>8.8.8.1:80</li>
    `,
  ])('%j', (line) => {
    expect(one(line)).toEqual([]);
  });
});

test('lines end with LF, CRLF or CR alone, and the last needs no end', () => {
  expect(one('8.8.8.1:1\n8.8.8.2:2\r\n\r\n8.8.8.3:3\r8.8.8.4:4')).toEqual([
    'http://8.8.8.1:1',
    'http://8.8.8.2:2',
    'http://8.8.8.3:3',
    'http://8.8.8.4:4',
  ]);
});

test('garbage is counted, comments and blank lines are not', () => {
  const list = `# free list\n${'Array\n'.repeat(1300)}\n   \n8.8.8.1:80\n  # 8.8.8.2:80\n`;
  expect(parse('lines', list, 'http')).toMatchObject({ taken: ['http://8.8.8.1:80'], rejected: 1300 });
});

test('only so many IPv6 addresses of a public list are read as no honest one has', () => {
  const lines = Array.from({ length: 20_001 }, (_, n) => `[2606:4700::${n.toString(16)}]:80`).join('\n');
  expect(parse('lines', lines)).toMatchObject({ found: 20_000, rejected: 1 });
  expect(parse('lines', lines, null, false, true)).toMatchObject({ found: 20_001, rejected: 0 });
});

test('a line of 3 MB is dropped, and the next is read', () => {
  const list = `8.8.8.1:80\n${'8.8.8.2:80 '.repeat(300_000)}\n8.8.8.3:80\n`;
  expect(parse('lines', list, 'http')).toMatchObject({
    taken: ['http://8.8.8.1:80', 'http://8.8.8.3:80'],
    rejected: 1,
  });
});

test('without a protocol, each is tried', () => {
  const { taken } = parse('lines', '8.8.8.1:80\nsocks4://8.8.8.1:80\n', null);
  expect(taken).toEqual(['any://8.8.8.1:80', 'socks4://8.8.8.1:80']);
});

test('a list of https proxies may write them as http, but socks stays socks', () => {
  expect(one('http://8.8.8.1:80\nsocks5://8.8.8.1:80', 'https')).toEqual([
    'https://8.8.8.1:80',
    'socks5://8.8.8.1:80',
  ]);
});

test('private addresses are accepted only if allowed', () => {
  expect(parse('lines', '127.0.0.1:80\n10.0.0.1:80\n[::1]:80\n0.0.0.0:80\n', 'http', true).taken).toEqual([
    'http://127.0.0.1:80',
    'http://10.0.0.1:80',
    'http://[::1]:80',
  ]);
});

test('names, and TLS to the proxy, are accepted in own lists alone', () => {
  const list = [
    'p.example.test:80:u:p',
    'http://user:p%40w@brd.example.test:33335',
    'tls://u:p@Secure.Example.Test:443 DE',
    'tls://192.0.2.9:443:u:p',
    'socks5://gate.example.test:1080',
  ].join('\n');
  expect(parse('lines', list, null, true, true).taken).toEqual([
    'paid any://u:p@p.example.test:80',
    'paid http://user:p@w@brd.example.test:33335',
    'paid tls to secure.example.test, http://u:p@secure.example.test:443 DE',
    'paid tls to 192.0.2.9, http://u:p@192.0.2.9:443',
    'paid socks5://gate.example.test:1080',
  ]);
  expect(parse('lines', list, null, true)).toEqual({ taken: [], found: 0, rejected: 5 });
  const strange = [
    ...words`
      10.0.0.1 0x7f.1 127.1 localhost -a.test a..test
    `,
    `${'a.'.repeat(130)}test`,
  ];
  const refused = strange.map((host) => `${host}:80:u:p`).join('\n');
  expect(parse('lines', refused, null, false, true)).toMatchObject({ taken: [], rejected: strange.length });
});
