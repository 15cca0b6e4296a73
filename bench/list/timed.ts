/**
 * Prints how long the handler of a server takes, in ns: the quartiles of each 15,000 requests. The lower one barely changes on a busy
 * machine.
 *
 *     bun --preload ./bench/list/timed.ts src/main.ts
 */
const REQUESTS = 15_000;
const serve = Bun.serve;

function timed(options: Bun.Serve.Options<undefined>) {
  const { fetch: handle } = options as { fetch: (...given: unknown[]) => unknown };
  const samples = new Float64Array(REQUESTS);
  let count = 0;
  return serve({
    ...options,
    fetch(...given: unknown[]) {
      const startedAt = Bun.nanoseconds();
      const answer = handle(...given);
      samples[count++] = Bun.nanoseconds() - startedAt;
      if (count === REQUESTS) {
        count = 0;
        const sorted = samples.toSorted();
        console.error(...[0.25, 0.5, 0.75].map((share) => sorted[REQUESTS * share]), 'ns');
      }
      return answer;
    },
  } as Bun.Serve.Options<undefined>);
}

Bun.serve = timed as typeof Bun.serve;
