import { expect, test } from 'bun:test';
import { siteOf } from '../../src/proxy/targets/site.ts';
import { createSites } from '../../src/proxy/targets/sites.ts';
import { createRandom } from '../support/random.ts';

test('the chance of an unknown proxy follows from how others fare with the site', () => {
  const sites = createSites({ random: createRandom(5) });
  expect(sites.chance('a.example', 'new', 0.8)).toBeCloseTo(0.8);
  for (let n = 0; n < 30; n++) sites.observe('a.example', `p${n}`, false);
  expect(sites.chance('a.example', 'new', 0.8)).toBeLessThan(0.3);
  expect(sites.chance('b.example', 'new', 0.8)).toBeCloseTo(0.8);
});

test('new results replace old ones', () => {
  const sites = createSites({ random: createRandom(5) });
  for (let n = 0; n < 100; n++) sites.observe('a.example', 'p', true);
  for (let n = 0; n < 40; n++) sites.observe('a.example', 'p', false);
  expect(sites.chance('a.example', 'p', 0.9)).toBeLessThan(0.25);
});

test('beyond the maximum, sites and proxies are forgotten, longest unvisited first', () => {
  const sites = createSites({ random: createRandom(5), shared: true });
  for (let n = 0; n < 1000; n++) sites.observe('told.example', `p${n}`, true);
  expect(
    sites
      .takeNews(1)
      .get('told.example')
      ?.map(([proxy]) => proxy),
  ).toEqual(Array.from({ length: 400 }, (_, n) => `p${n + 600}`));
  for (let n = 0; n < 1000; n++) sites.observe(`${n}.example`, 'p', true);
  expect([sites.names().length, sites.knows('0.example'), sites.knows('999.example')]).toEqual([
    500,
    false,
    true,
  ]);
});

test.each([
  ['www.example.com', 'example.com'],
  ['a.b.example.co.uk', 'example.co.uk'],
  ['example.de', 'example.de'],
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8::1', '2001:db8::1'],
])('the site of %s is %s', (host, site) => {
  expect(siteOf(host)).toBe(site);
});
