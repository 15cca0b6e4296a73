import { describe, expect, test } from 'bun:test';
import { inEnglish } from '../../src/errors.ts';
import { createInFlight, createPatience } from '../../src/http/limits.ts';
import { createShares } from '../../src/lib/shares.ts';

const codeOf = (work: () => unknown) => {
  try {
    work();
    return 'ok';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('shares', () => {
  test('are kept by each client for itself, and given back once', () => {
    const shares = createShares({ each: 2, fullMessage: inEnglish('full') });
    const leave = shares.enter('a');
    shares.enter('a');
    expect(codeOf(() => shares.enter('a'))).toBe('rate_limited');
    expect(codeOf(() => shares.enter('b'))).toBe('ok');
    leave();
    leave();
    expect(codeOf(() => shares.enter('a'))).toBe('ok');
    expect(codeOf(() => shares.enter('a'))).toBe('rate_limited');
  });

  test('end where all places are taken', () => {
    const shares = createShares({
      each: 2,
      all: 3,
      fullMessage: inEnglish('full'),
      busyMessage: inEnglish('busy'),
    });
    const leave = shares.enter('a');
    shares.enter('b');
    shares.enter('c');
    expect(codeOf(() => shares.enter('d'))).toBe('busy');
    leave();
    expect(codeOf(() => shares.enter('d'))).toBe('ok');
  });

  test('of requests and uploads are counted apart', () => {
    const inFlight = createInFlight();
    for (let n = 0; n < 256; n++) inFlight('a', {});
    expect(codeOf(() => inFlight('a', {}))).toBe('rate_limited');
    for (let n = 0; n < 32; n++) inFlight('a', { bytes: 'upload_bytes' });
    expect(codeOf(() => inFlight('a', { bytes: 'upload_bytes' }))).toBe('rate_limited');
    expect(codeOf(() => inFlight('b', {}))).toBe('ok');
  });
});

describe('refusals', () => {
  function createClient() {
    const clock = { ms: 0 };
    const slept: number[] = [];
    const patience = createPatience({
      now: () => clock.ms,
      sleep: async (ms) => void slept.push(ms),
      random: () => 0.5,
    });
    const refuse = (client: string, times: number) =>
      Array.from({ length: times }, () => patience.holdBack(client)).filter((held) => held !== null).length;
    return { clock, slept, refuse };
  }

  test('are held back from who goes on regardless, and from nobody else', () => {
    const { slept, refuse } = createClient();
    expect(refuse('a', 50)).toBe(30);
    expect(new Set(slept)).toEqual(new Set([2000]));
    expect(refuse('b', 20)).toBe(0);
  });

  test('are told at once again in the next second', () => {
    const { clock, refuse } = createClient();
    refuse('a', 50);
    clock.ms = 1000;
    expect(refuse('a', 20)).toBe(0);
  });

  test('are told at once where too many are held back', () => {
    const { refuse } = createClient();
    expect(refuse('a', 30_000)).toBe(20_000);
  });
});
