import { describe, expect, test } from 'bun:test';
import { findClient } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';

const trust = createProxyTrust(['10.0.0.0/8', '10.0.0.2', '::1']);
const find = (peer: string, forwardedFor: string | null, hops?: number) => {
  const { address, sure } = findClient(peer, forwardedFor, trust, hops);
  return sure ? address : `${address}?`;
};

describe('the client', () => {
  test('is the peer of the socket', () => {
    expect(find('198.51.100.7', null)).toBe('198.51.100.7');
    expect(find('::ffff:198.51.100.7', null)).toBe('198.51.100.7');
    expect(find('198.51.100.7', '203.0.113.1')).toBe('198.51.100.7');
  });

  test('is the right-most entry behind a trusted proxy', () => {
    expect(find('10.0.0.1', '1.1.1.1, 203.0.113.1')).toBe('203.0.113.1');
    expect(find('10.0.0.1', '203.0.113.1:4711')).toBe('203.0.113.1');
    expect(find('::1', '[2606:4700::0011]:443')).toBe('2606:4700::11');
  });

  test('is further left only past proxies that are named one by one', () => {
    expect(find('::ffff:10.0.0.1', '203.0.113.1, 10.0.0.2')).toBe('203.0.113.1');
    // A visitor who comes from the network of the proxies wrote the first entry.
    expect(find('10.0.0.1', '203.0.113.1, 10.0.0.9')).toBe('10.0.0.9');
  });

  test('is not known for sure where an entry is missing or no address', () => {
    expect(find('10.0.0.1', null)).toBe('10.0.0.1?');
    expect(find('10.0.0.1', '')).toBe('10.0.0.1?');
    expect(find('10.0.0.1', '203.0.113.1, unknown')).toBe('10.0.0.1?');
    expect(find('10.0.0.1', '10.0.0.2')).toBe('10.0.0.2?');
  });

  test('is counted where the number of proxies is given, and sure only past trusted ones', () => {
    expect(find('10.0.0.1', '1.1.1.1, 203.0.113.1', 1)).toBe('203.0.113.1');
    expect(find('10.0.0.1', '1.1.1.1, 203.0.113.1, 10.0.0.9', 2)).toBe('203.0.113.1');
    // Who comes past the outer proxy is counted as if it were one.
    expect(find('10.0.0.1', '203.0.113.1, 198.51.100.7', 2)).toBe('203.0.113.1?');
    expect(find('10.0.0.1', '198.51.100.7', 2)).toBe('198.51.100.7?');
    expect(find('198.51.100.7', '203.0.113.1', 1)).toBe('198.51.100.7');
  });
});
