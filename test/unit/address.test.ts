import { describe, expect, test } from 'bun:test';
import {
  canonicalAddress,
  clientNetwork,
  createNetworkList,
  isGloballyRoutable,
  isGloballyRoutableIpv4,
  parseIpv4,
  sharedNetworks,
} from '../../src/lib/address.ts';
import { FORBIDDEN } from '../support/clients/forbidden-addresses.ts';
import { words } from '../support/words.ts';

describe('an address that must not be dialled is refused', () => {
  for (const [kind, addresses] of Object.entries(FORBIDDEN)) {
    test.each(addresses)(`${kind}: %j`, (address) => {
      expect(isGloballyRoutable(address)).toBe(false);
    });
  }
});

test.each(words`
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 128.0.0.1 168.63.129.15
  168.63.129.17 169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 198.17.255.255
  198.20.0.0 223.255.255.255 2606:4700:4700::1111 2001:4860:4860::8888 2001:200::1
  2a00:1450:4001:81b::200e
`)('the public address %s is let through', (address) => {
  expect(isGloballyRoutable(address)).toBe(true);
});

test('an address has one spelling', () => {
  expect(canonicalAddress('2606:4700:0:0:0:0:0:ABCD')).toBe('2606:4700::abcd');
  expect(canonicalAddress('::ffff:127.0.0.1')).toBe('127.0.0.1');
  expect(canonicalAddress('::FFFF:808:808')).toBe('8.8.8.8');
  expect(canonicalAddress('::ffff:808:808')).toBe('8.8.8.8');
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
  for (const text of ['1.2.3', '1..2.3', '1.2.3.4.5', '1.2.3.', '01.2.3.4']) expect(parseIpv4(text)).toBe(-1);
});

test('a network list refuses what is not a network', () => {
  for (const wrong of ['10.0.0.0/33', '::/129', '10.0.0.0/-1', '10.0.0.0/', 'x', '10.0.0/8']) {
    expect(() => createNetworkList([wrong])).toThrow(`"${wrong}" is neither an IP address nor a network`);
  }
});

test('a network list may hold everything, and single addresses', () => {
  const everything = createNetworkList(['0.0.0.0/0', '::/0']);
  expect(everything.has('8.8.8.8')).toBe(true);
  expect(everything.has('2606:4700::1')).toBe(true);
  const six = createNetworkList(['::/0']);
  expect([six.has('8.8.8.8'), six.has('2606:4700::1')]).toEqual([false, true]);
  const mapped = createNetworkList(['::ffff:10.0.0.0/104']);
  expect([mapped.has('10.1.2.3'), mapped.has('11.1.2.3')]).toEqual([true, false]);
  const one = createNetworkList(['10.0.0.1', '2001:db8::1']);
  expect(one.has('10.0.0.1')).toBe(true);
  expect(one.has('10.0.0.2')).toBe(false);
  expect(one.has('2001:db8::1')).toBe(true);
  expect(one.has('2001:db8::2')).toBe(false);
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1::5:6', '2001:db8:1:0::/64'],
  ['2001:db8::4:5:6:7', '2001:db8:0:0::/64'],
  ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
  ['2001:db8::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::2:3:4:5:6:7', '0:0:2:3::/64'],
])('the client behind %s is %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});

test.each([
  ['203.0.113.7', ['203.0.113.0/24']],
  ['2001:db8:1:abcd:3:4:5:6', ['2001:db8:1:ab00::/56', '2001:db8:1::/48']],
  ['2001:db8:1:cd::6', ['2001:db8:1:0::/56', '2001:db8:1::/48']],
  ['2001:db8::5:6', ['2001:db8:0:0::/56', '2001:db8:0::/48']],
  ['unknown', ['unknown']],
])('what %s shares with its neighbours is %j', (address, networks) => {
  expect(sharedNetworks(address)).toEqual(networks);
});
