import { expect, test } from 'bun:test';
import { fuzzHttp } from '../support/clients/http-fuzz.ts';

// scripts/fuzz-http.ts sends 100,000.
test.concurrent.each(['bun', 'deno'] as const)(
  'malformed requests make the server on %s neither fail nor grow',
  async (runtime) => {
    const { faults, logged, exitCode, answers, memory } = await fuzzHttp(runtime, 1500, 18);
    expect([faults, logged, exitCode]).toEqual([[], [], 0]);
    for (const status of ['200', '400', '404', '405', '415'])
      expect(answers[status] ?? 0, JSON.stringify(answers)).toBeGreaterThan(5);
    expect(memory.late - memory.early).toBeLessThan(200 * 2 ** 20);
  },
  180_000,
);
