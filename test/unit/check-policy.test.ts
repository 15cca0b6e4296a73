import { expect, test } from 'bun:test';
import { REFUSED_PORTS, refusalOf } from '../../src/proxy/check/policy.ts';

const PUBLIC = { allowPrivate: false, own: new Set(['8.8.8.8']) };
const PRIVATE = { allowPrivate: true, own: new Set(['8.8.8.8']) };

test('a globally routable address on an ordinary port may be dialled', () => {
  for (const ip of ['8.8.4.4', '2606:4700::1111']) expect(refusalOf({ ip, port: 8080 }, PUBLIC)).toBeNull();
});

test('addresses that are not globally routable are refused unless allowed', () => {
  for (const ip of [
    '127.0.0.1',
    '10.0.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    'fd00::1',
  ]) {
    expect(refusalOf({ ip, port: 8080 }, PUBLIC)).toBe('not a globally routable address');
    expect(refusalOf({ ip, port: 8080 }, PRIVATE)).toBeNull();
  }
});

test('an address that is not canonical is always refused', () => {
  for (const ip of [
    'localhost',
    '::ffff:8.8.4.4',
    '08.8.4.4',
    '134744072',
    '8.8.4.4 ',
    '2606:4700:0::1111',
    'fe80::1%lo',
    '',
  ]) {
    expect(refusalOf({ ip, port: 8080 }, PRIVATE)).toBe('not a literal address in canonical form');
  }
});

test('our own address is refused unless private ones are allowed', () => {
  expect(refusalOf({ ip: '8.8.8.8', port: 8080 }, PUBLIC)).toBe('an address of this machine');
  expect(refusalOf({ ip: '8.8.8.8', port: 8080 }, PRIVATE)).toBeNull();
});

test('service ports and impossible ports are always refused', () => {
  for (const port of [0, -1, 65_536, 1.5, Number.NaN])
    expect(refusalOf({ ip: '8.8.4.4', port }, PRIVATE)).toBe('not a port');
  for (const [port, service] of REFUSED_PORTS) {
    expect(refusalOf({ ip: '8.8.4.4', port }, PRIVATE)).toBe(`port of ${service}`);
  }
  for (const port of [22, 25, 465, 587, 445, 3306, 5432, 6379, 11211, 27017])
    expect(REFUSED_PORTS.has(port)).toBe(true);
  for (const port of [80, 443, 1080, 3128, 8080, 65_535]) expect(REFUSED_PORTS.has(port)).toBe(false);
});

test('ports of the Fetch standard, of databases, containers and remote desktops are never dialled', () => {
  for (const port of [
    1, 69, 123, 512, 1723, 2376, 3389, 5060, 5900, 5984, 6443, 6667, 9042, 9200, 10080, 15672,
  ]) {
    expect([port, refusalOf({ ip: '1.1.1.1', port }, { allowPrivate: true, own: new Set() })]).toEqual([
      port,
      expect.stringContaining('port of'),
    ]);
  }
  for (const port of [80, 443, 999, 1080, 3128, 4145, 5678, 8080, 8888, 9050, 9999]) {
    expect(refusalOf({ ip: '1.1.1.1', port }, { allowPrivate: true, own: new Set() })).toBeNull();
  }
});
