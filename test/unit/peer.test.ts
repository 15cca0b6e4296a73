import { describe, expect, test } from 'bun:test';
import { clientAddress } from '../../src/http/peer.ts';
import { createNetworkList } from '../../src/lib/address.ts';

const trusted = createNetworkList(['10.0.0.0/8', '::1']);
const nobody = createNetworkList([]);

describe('clientAddress', () => {
  test('the peer of the socket is the client', () => {
    expect(clientAddress('198.51.100.7', null, nobody)).toBe('198.51.100.7');
  });

  test('an IPv4-mapped peer is the same client as its IPv4 address', () => {
    expect(clientAddress('::ffff:198.51.100.7', null, nobody)).toBe('198.51.100.7');
  });

  test('X-Forwarded-For from a stranger is ignored', () => {
    expect(clientAddress('198.51.100.7', '203.0.113.1', trusted)).toBe('198.51.100.7');
  });

  test('behind a trusted proxy the right-most entry is the client', () => {
    expect(clientAddress('10.0.0.1', '1.1.1.1, 203.0.113.1', trusted)).toBe('203.0.113.1');
  });

  test('trusted hops are passed over from the right', () => {
    expect(clientAddress('::ffff:10.0.0.1', '203.0.113.1, 10.0.0.9, 10.0.0.2', trusted)).toBe('203.0.113.1');
  });

  test('where all entries are trusted the left-most is the client', () => {
    expect(clientAddress('10.0.0.1', '10.0.0.5, 10.0.0.2', trusted)).toBe('10.0.0.5');
  });

  test('what is no address ends the walk', () => {
    expect(clientAddress('10.0.0.1', '203.0.113.1, unknown', trusted)).toBe('10.0.0.1');
    expect(clientAddress('10.0.0.1', '', trusted)).toBe('10.0.0.1');
  });

  test('ports and brackets are taken off', () => {
    expect(clientAddress('10.0.0.1', '203.0.113.1:4711', trusted)).toBe('203.0.113.1');
    expect(clientAddress('::1', '[2606:4700::0011]:443', trusted)).toBe('2606:4700::11');
  });
});
