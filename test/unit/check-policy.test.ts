import { expect, test } from 'bun:test';
import { isRefused } from '../../src/proxy/check/policy.ts';
import { words } from '../support/words.ts';

const PUBLIC = { allowPrivate: false, own: new Set(['8.8.8.8']) };
const PRIVATE = { allowPrivate: true, own: new Set(['8.8.8.8']) };
const PORT = 8080;
const IP = '8.8.4.4';

test.each([IP, '2606:4700::1111'])('%s is globally routable and may be dialled', (ip) => {
  expect(isRefused({ ip, port: PORT }, PUBLIC)).toBe(false);
});

test.each([
  ...words`
    127.0.0.1 10.0.0.1 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0 ::1 fd00::1
  `,
  // Our own.
  '8.8.8.8',
])('%s is refused unless private addresses are allowed', (ip) => {
  expect(isRefused({ ip, port: PORT }, PUBLIC)).toBe(true);
  expect(isRefused({ ip, port: PORT }, PRIVATE)).toBe(false);
});

test.each([
  'localhost',
  '::ffff:8.8.4.4',
  '08.8.4.4',
  '134744072',
  '8.8.4.4 ',
  '2606:4700:0::1111',
  'fe80::1%lo',
  '',
])('"%s" is not a canonical address and always refused', (ip) => {
  expect(isRefused({ ip, port: PORT }, PRIVATE)).toBe(true);
});

test('impossible ports, and those of the Fetch standard, of databases, containers and remote desktops are never dialled', () => {
  const refused = (ports: number[]) => ports.filter((port) => isRefused({ ip: IP, port }, PRIVATE));
  const never = [
    0, -1, 65_536, 1.5, 1, 22, 25, 69, 123, 445, 465, 512, 587, 1723, 2376, 3306, 3389, 5060, 5432, 5900,
    5984, 6379, 6443, 6667, 9042, 9200, 10080, 11211, 15672, 27017,
  ];
  expect(refused([Number.NaN, ...never])).toEqual([Number.NaN, ...never]);
  expect(refused([80, 443, 999, 1080, 3128, 4145, 5678, 8080, 8888, 9050, 9999, 65_535])).toEqual([]);
});
