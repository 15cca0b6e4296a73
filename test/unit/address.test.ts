import { describe, expect, test } from 'bun:test';
import {
  canonicalAddress,
  createNetworkList,
  isGloballyRoutable,
  isGloballyRoutableIpv4,
  parseIpv4,
} from '../../src/shared/address.ts';

const FORBIDDEN: Record<string, string[]> = {
  'this network and broadcast': ['0.0.0.0', '0.1.2.3', '255.255.255.255'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  loopback: ['127.0.0.1', '127.0.0.53', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  'link-local': ['169.254.0.1', 'fe80::1', 'febf:ffff::1'],
  'cloud metadata': ['169.254.169.254', '169.254.170.2', '168.63.129.16', '100.100.100.200', 'fd00:ec2::254'],
  'protocol assignments': ['192.0.0.1', '192.0.0.170', '192.0.0.192'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'relays and sinks': [
    '192.88.99.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.175.48.1',
    '2620:4f:8000::1',
    '100::1',
  ],
  'multicast and reserved': ['224.0.0.1', '239.255.255.250', '240.0.0.1', '254.1.2.3', 'ff02::1', 'ff0e::1'],
  unspecified: ['::', '0:0:0:0:0:0:0:0'],
  'unique-local and site-local': ['fc00::1', 'fd12:3456:789a::1', 'fec0::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:8.8.8.8', '0:0:0:0:0:ffff:a9fe:a9fe'],
  'IPv4-compatible': ['::127.0.0.1', '::8.8.8.8', '::ffff:0:8.8.8.8'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::a00:1'],
  '6to4': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:808:808::1'],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ORCHID: ['2001:10::1', '2001:20::1'],
  'unassigned space': ['4000::1', '5f00::1', '8000::1', 'e000::1'],
  'zone ids': ['fe80::1%eth0', '2606:4700::1111%1', '::1%lo', '1.1.1.1%0'],
  decimal: ['2130706433', '134744072', '127.1', '127.0.1', '8.526344'],
  octal: ['0177.0.0.1', '0177.0.0.01', '010.8.8.8', '08.8.8.8', '8.8.8.008'],
  hexadecimal: ['0x7f000001', '0x7f.0.0.1', '0x8.8.8.8', '7f.0.0.1'],
  'trailing and leading dots': ['127.0.0.1.', '8.8.8.8.', '.8.8.8.8', '8..8.8.8'],
  'blanks and controls': [' 8.8.8.8', '8.8.8.8 ', '8.8.8.8\n', '8.8.8.8\0', '\t8.8.8.8', '8.8.8.8\r\n'],
  'other digits and signs': [
    '８.8.8.8',
    '８．８．８．８',
    '١.1.1.1',
    '+8.8.8.8',
    '-8.8.8.8',
    '8.8.8.8e0',
    '①.1.1.1',
    '8。8。8。8',
  ],
  'out of range': ['256.8.8.8', '8.8.8.999', '8.8.8.8.8', '8.8.8'],
  'brackets, ports and networks': [
    '[::1]',
    '[2606:4700::1111]',
    '8.8.8.8:80',
    '8.8.8.0/24',
    '2606:4700::/32',
  ],
  names: ['', 'localhost', 'example.com', 'metadata.google.internal', '127.0.0.1.nip.io', 'http://8.8.8.8'],
};

describe('an address that must not be dialled is refused', () => {
  for (const [kind, addresses] of Object.entries(FORBIDDEN)) {
    test.each(addresses)(`${kind}: %j`, (address) => {
      expect(isGloballyRoutable(address)).toBe(false);
    });
  }
});

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '128.0.0.1',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2001:4860:4860::8888',
  '2001:200::1',
  '2a00:1450:4001:81b::200e',
])('the public address %s is let through', (address) => {
  expect(isGloballyRoutable(address)).toBe(true);
});

test('an address has one spelling', () => {
  expect(canonicalAddress('2606:4700:0:0:0:0:0:ABCD')).toBe('2606:4700::abcd');
  expect(canonicalAddress('::ffff:127.0.0.1')).toBe('127.0.0.1');
  expect(canonicalAddress('::FFFF:808:808')).toBe('8.8.8.8');
  expect(canonicalAddress('8.8.8.8')).toBe('8.8.8.8');
  for (const none of ['08.8.8.8', '2130706433', 'fe80::1%eth0', '[::1]', 'localhost', '']) {
    expect(canonicalAddress(none)).toBeNull();
  }
});

test('the numeric check agrees with a list of the same networks', () => {
  const list = createNetworkList([
    '10.0.0.0/8',
    '100.64.0.0/10',
    '172.16.0.0/12',
    '192.0.2.0/24',
    '224.0.0.0/3',
  ]);
  for (const address of ['10.1.2.3', '100.99.0.1', '172.20.1.1', '192.0.2.255', '250.0.0.1']) {
    expect(list.has(address)).toBe(true);
    expect(isGloballyRoutableIpv4(parseIpv4(address))).toBe(false);
  }
  expect(parseIpv4('255.255.255.255')).toBe(0xffffffff);
  expect(parseIpv4('1.2.3')).toBe(-1);
});

test('a network list refuses what is no network', () => {
  for (const wrong of ['10.0.0.0/33', '::/129', '10.0.0.0/-1', '10.0.0.0/', 'x', '10.0.0/8']) {
    expect(() => createNetworkList([wrong])).toThrow(RangeError);
  }
});
