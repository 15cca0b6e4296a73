import { freePort } from '../free-port.ts';
import { type Balancer, CLIENT_ADDRESS, startBalancer } from './balancer.ts';
import { LIGHT, type RuntimeName, type ServerProcess, startServer } from './server-process.ts';

/** A copy of the server at a fixed address, whichever process listens there. */
export interface Copy {
  readonly url: string;
  /** Increases with each process of the fleet. */
  readonly incarnation: number;
  readonly running: boolean;
  /** Kills it without warning. */
  kill(): Promise<void>;
  /** Ends it as an orchestrator does. Returns the exit code. */
  end(): Promise<number | undefined>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Suspends it until `resume`. */
  pause(): void;
  resume(): void;
  /** What its processes have written to stderr. */
  stderr(): string;
}

/**
 * Starts copies of the server over the same stores, behind a balancer; `envOf` may give processes different settings,
 * and `commandOf` another program.
 */
export async function startFleet(
  runtimes: readonly RuntimeName[],
  envOf: (incarnation: number) => Record<string, string>,
  commandOf: (incarnation: number) => readonly string[] | undefined = () => undefined,
) {
  let incarnations = 0;
  const attempts = await Promise.allSettled(runtimes.map(startCopy));
  const copies = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  const failed = attempts.find((attempt) => attempt.status === 'rejected');
  if (failed) {
    await Promise.all(copies.map((copy) => copy.end()));
    throw failed.reason;
  }
  const balancer: Balancer = await startBalancer(copies.map(({ url }) => Number(new URL(url).port)));

  async function startCopy(runtime: RuntimeName): Promise<Copy> {
    const port = await freePort();
    let incarnation = 0;
    let server: ServerProcess | null = null;
    let earlier = '';
    const begin = async () => {
      incarnation = ++incarnations;
      server = await startServer(commandOf(incarnation) ?? runtime, {
        PORT: String(port),
        TRUSTED_PROXIES: '127.0.0.1',
        RATE_LIMITS: 'off',
        ...LIGHT,
        ...envOf(incarnation),
      });
    };
    const end = async (signal: NodeJS.Signals) => {
      const ending = server;
      server = null;
      ending?.kill('SIGCONT');
      // A second SIGTERM would end it at once.
      if (signal === 'SIGKILL') ending?.kill(signal);
      const code = await ending?.stop();
      earlier += ending?.stderr() ?? '';
      return code;
    };
    await begin();
    return {
      url: `http://127.0.0.1:${port}`,
      get incarnation() {
        return incarnation;
      },
      get running() {
        return server !== null;
      },
      start: begin,
      pause: () => server?.kill('SIGSTOP'),
      resume: () => server?.kill('SIGCONT'),
      async kill() {
        await end('SIGKILL');
      },
      end: () => end('SIGTERM'),
      stderr: () => earlier + (server?.stderr() ?? ''),
    };
  }

  return {
    /** The balancer. */
    url: balancer.url,
    copies,
    /** Sends a request as the client with that address, through the balancer or directly to the copy. */
    send(path: string, { from, to, ...init }: RequestInit & { from?: string; to?: Copy | undefined } = {}) {
      const headers = new Headers(init.headers);
      if (from !== undefined) headers.set(to ? 'x-forwarded-for' : CLIENT_ADDRESS, from);
      return fetch(`${to?.url ?? balancer.url}${path}`, { redirect: 'manual', ...init, headers });
    },
    async stop() {
      await balancer.stop();
      await Promise.all(copies.map((copy) => copy.end()));
    },
  };
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;
