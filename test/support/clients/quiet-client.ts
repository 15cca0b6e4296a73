import { Agent, request } from 'node:http';

/** A client that comes from a loopback address of its own, over connections that it keeps. */
export function createQuietClient(url: string, from: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const { hostname, port } = new URL(url);

  /** Resolves with the status and the time until the last byte, in ms. */
  const send = (path: string, { method = 'GET', body }: { method?: string; body?: Uint8Array } = {}) =>
    new Promise<{ status: number; ms: number; text: string }>((resolve, reject) => {
      const startedAt = performance.now();
      const asked = request({ agent, host: hostname, port, localAddress: from, path, method }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            ms: performance.now() - startedAt,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      });
      asked.on('error', reject);
      asked.end(body);
    });

  return {
    send,
    /** Reads each path so often, in turn, one after the other. Resolves with the median time of each, in ms, and how many were not answered with 200. */
    async read(paths: readonly string[], times: number) {
      const took = new Map(paths.map((path) => [path, [] as number[]]));
      let faults = 0;
      for (let n = 0; n < times; n++) {
        for (const [path, times] of took) {
          const { status, ms } = await send(path);
          times.push(ms);
          if (status !== 200) faults++;
        }
      }
      const medianOf = (all: number[]) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
      return { medians: new Map([...took].map(([path, all]) => [path, medianOf(all)])), faults };
    },
    close: () => agent.destroy(),
  };
}
