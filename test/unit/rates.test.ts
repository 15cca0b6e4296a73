import { describe, expect, test } from 'bun:test';
import { clientNetwork } from '../../src/lib/address.ts';
import { DEFAULT_RATES, parseRates } from '../../src/lib/rates.ts';

describe('limits as a setting', () => {
  test('are the defaults, or off', () => {
    expect(parseRates('on')).toBe(DEFAULT_RATES);
    expect(parseRates('OFF')).toBeNull();
  });

  test('change some limits and keep the others', () => {
    expect(parseRates('upload=30/1h, upload_bytes=1.5GiB/1d,read=10/s')).toEqual({
      ...DEFAULT_RATES,
      upload: { capacity: 30, perSecond: 30 / 3600 },
      upload_bytes: { capacity: 1.5 * 2 ** 30, perSecond: (1.5 * 2 ** 30) / 86_400 },
      read: { capacity: 10, perSecond: 10 },
    });
  });

  test.each(['sometimes', 'upload=60', 'upload=0/1m', 'upload=60/0m', 'mail=1/1m', 'upload=60/1y'])(
    '"%s" is refused with what would be right',
    (text) => {
      expect(() => parseRates(text)).toThrow('must be on, off, or limits such as upload=60/1m');
    },
  );
});

describe('one client', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001::a:b:c:d:e', '2001:0:0:a::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('%s counts as %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  });
});
