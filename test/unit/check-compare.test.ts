import { expect, test } from 'bun:test';
import { compareHeaders, holdsAddress } from '../../src/proxy/check/opinion.ts';
import { words } from '../support/words.ts';

const US = '198.51.100.7';
const EXIT = '203.0.113.9';
const SENT = { 'user-agent': 'curl/8.14.1', host: 'judge.test', accept: '*/*' };

function compare(added: Record<string, string>, balancer: Record<string, string> = {}, chain = '') {
  return compareHeaders({
    sent: SENT,
    direct: { address: US, headers: { ...SENT, ...balancer } },
    proxied: { address: EXIT, chain, headers: { ...SENT, ...added } },
    own: new Set([US, '2001:db8::7']),
  });
}

test('an untouched request is elite', () => {
  expect(compare({})).toEqual({ anonymity: 'elite', tampering: [] });
  expect(compare({ connection: 'keep-alive' })).toEqual({ anonymity: 'elite', tampering: [] });
});

test('a header that gives the proxy away is anonymous', () => {
  for (const name of words`
    via forwarded x-forwarded-for x-forwarded-host proxy-connection x-proxy-id client-ip
  `) {
    expect(compare({ [name]: 'something' })).toEqual({ anonymity: 'anonymous', tampering: [name] });
  }
});

test('our own address in any header, in any spelling, is transparent', () => {
  for (const value of [
    US,
    `${US}:51234`,
    `10.0.0.1, ${US}`,
    `for=${US};proto=http`,
    `for="[2001:db8::7]:443"`,
    '2001:0DB8:0:0:0:0:0:7',
    `::ffff:${US}`,
  ]) {
    expect(compare({ 'x-made-up': value })).toEqual({ anonymity: 'transparent', tampering: ['x-made-up'] });
  }
});

test('our own address in the chain of an echo service is transparent', () => {
  expect(compare({}, {}, US).anonymity).toBe('transparent');
  expect(compare({}, {}, '10.0.0.1').anonymity).toBe('elite');
});

test('a header that was added, changed or taken out is tampering, not a loss of anonymity', () => {
  expect(compare({ 'x-tracked': '1' })).toEqual({ anonymity: 'elite', tampering: ['x-tracked'] });
  expect(compare({ 'user-agent': 'other' })).toEqual({ anonymity: 'elite', tampering: ['user-agent'] });
  const { accept: _, ...headers } = SENT;
  const [direct, proxied] = [
    { address: US, headers: SENT },
    { address: EXIT, chain: '', headers },
  ];
  expect(compareHeaders({ sent: SENT, direct, proxied, own: new Set() })).toEqual({
    anonymity: 'elite',
    tampering: ['accept'],
  });
});

test('what a balancer says about its client is expected to change with the client', () => {
  const balancer = { 'x-forwarded-for': US, 'x-request-id': '1' };
  expect(compare({ 'x-forwarded-for': EXIT, 'x-request-id': '2' }, balancer)).toEqual({
    anonymity: 'elite',
    tampering: [],
  });
  expect(compare({ 'x-forwarded-for': `${US}, ${EXIT}` }, balancer).anonymity).toBe('transparent');
  expect(compare({ 'x-forwarded-for': `10.0.0.1, ${EXIT}` }, balancer).anonymity).toBe('anonymous');
});

test('an address is found whole or not at all', () => {
  expect(holdsAddress('198.51.100.77', new Set([US]))).toBe(false);
  expect(holdsAddress('1198.51.100.7', new Set([US]))).toBe(false);
  expect(holdsAddress('', new Set([US]))).toBe(false);
  expect(holdsAddress(US, new Set())).toBe(false);
});
