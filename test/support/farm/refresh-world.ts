import { startFarm } from './farm.ts';
import { startJudge } from './judge-server.ts';

/** A check that came through a proxy, as the judge saw it. */
export interface Seen {
  /** Which process of the fleet checked. */
  incarnation: number;
  /** Ms since 1970. */
  at: number;
}

/** Of the proxies of each refresh `silent` never answer: with 8 checks at once each 8 of them take a second. */
export async function startRefreshWorld({
  honest = 30,
  silent = 24,
}: {
  honest?: number;
  silent?: number;
} = {}) {
  const seen: Seen[] = [];
  const farm = await startFarm();
  const judge = await startJudge({
    onRequest(path, peer) {
      const incarnation = Number(/^\/judge\/(\d+)/.exec(path)?.[1]);
      if (peer !== '127.0.0.1') seen.push({ incarnation, at: Date.now() });
    },
  });
  let read = 0;
  const lists = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      const first = read++ * Math.max(honest, silent);
      const lines = (role: 'http' | 'silent', count: number) =>
        Array.from({ length: count }, (_, n) => `http://${farm.address(role, first + n)}:${farm.port}`);
      return new Response([...lines('http', honest), ...lines('silent', silent)].join('\n'));
    },
  });
  return {
    /** In the order of arrival. */
    seen,
    envOf: (incarnation: number) => ({
      PROXY_ALLOW_PRIVATE: 'true',
      PROXY_SOURCES: `http://127.0.0.1:${lists.port}/list`,
      PROXY_JUDGES: `${judge.url}/${incarnation}`,
      PROXY_WITNESSES: 'none',
      PROXY_CHECK_TIMEOUT: '1s',
      PROXY_CHECK_CONCURRENCY: '8',
      PROXY_MAX_POOL: '200',
    }),
    async stop() {
      await Promise.all([farm.stop(), judge.stop(), lists.stop(true)]);
    },
  };
}

/** Lists that name new proxies each time they are read, so that each refresh has something to check. */
export type RefreshWorld = Awaited<ReturnType<typeof startRefreshWorld>>;
