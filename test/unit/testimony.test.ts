import { expect, test } from 'bun:test';
import { createAgreement, createTestimony, type Witness } from '../../src/proxy/targets/testimony.ts';

const witness = (id: string): Witness => ({ id, speaksForAll: false });
const PROXY = 'http://192.0.2.1:80';

test('an account that uses many sites pushes out its own, not those of others', () => {
  const testimony = createTestimony({ random: () => 0.5, monotonic: () => 0 });
  testimony.observe(witness('modest'), 'first.example', PROXY, true);
  for (let n = 0; n < 600; n++) testimony.observe(witness('busy'), `${n}.example`, PROXY, true);
  expect(testimony.facts(witness('modest'), 'first.example')?.good).toBe(1);
  expect(testimony.facts(witness('busy'), '0.example')).toBeNull();
  expect(testimony.facts(witness('busy'), '599.example')?.good).toBe(1);
  expect([testimony.own.names().length, testimony.common.names().length]).toEqual([500, 0]);
});

test('what one account says counts for itself, and what the operator says for all', () => {
  const testimony = createTestimony({ random: () => 0.5, monotonic: () => 0 });
  testimony.observe(witness('one'), 'a.example', PROXY, false);
  expect(testimony.drawAt(witness('one'), 'a.example')).toBeFunction();
  expect(testimony.drawAt(witness('other'), 'a.example')).toBeUndefined();
  testimony.observe({ id: 'operator', speaksForAll: true }, 'b.example', PROXY, true);
  expect(testimony.facts(null, 'b.example')?.good).toBe(1);
  expect([...testimony.all().keys()].sort()).toEqual(['a.example', 'b.example']);
});

test('one account neither makes nor breaks the opinion of two, and its word fades', () => {
  let now = 0;
  const agreement = createAgreement(() => now);
  agreement.note('p', 'one', true);
  for (let n = 0; n < 9; n++) agreement.note('p', 'hostile', false);
  expect(agreement.opinion('p')).toBeNull();
  agreement.note('p', 'two', true);
  expect(agreement.opinion('p')).toBe('good');
  agreement.note('p', 'hostile', false);
  expect(agreement.opinion('p')).toBe('good');
  now += 60 * 60_000;
  expect(agreement.opinion('p')).toBeNull();
});

test('two accounts agree once for each time that one follows another', () => {
  const agreement = createAgreement(() => 0);
  const said = (account: string, good: boolean) => agreement.note('p', account, good);
  expect([said('a', false), said('a', false), said('b', false), said('b', true), said('b', false)]).toEqual([
    false,
    false,
    true,
    false,
    false,
  ]);
  expect(said('a', false)).toBe(true);
});
