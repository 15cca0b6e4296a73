import { Agent, request } from 'node:http';

export interface QuietClient {
  /** Resolves with the status and the time until the last byte, in ms. */
  send(
    path: string,
    init?: { method?: string; body?: Uint8Array },
  ): Promise<{ status: number; ms: number; text: string }>;
  /** Reads each path so often, in turn, one after the other. Resolves with the median time of each, in ms, and how many were not answered with 200. */
  read(paths: readonly string[], times: number): Promise<{ medians: Map<string, number>; faults: number }>;
  close(): void;
}

/** A client that comes from a loopback address of its own, over connections that it keeps. */
export function createQuietClient(url: string, from: string): QuietClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const { hostname, port } = new URL(url);

  const send: QuietClient['send'] = (path, { method = 'GET', body } = {}) =>
    new Promise((resolve, reject) => {
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
    async read(paths, times) {
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
