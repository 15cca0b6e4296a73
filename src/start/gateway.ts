import type { Tokens } from '../access/tokens.ts';
import type { Config } from '../config.ts';
import { ConfigError } from '../errors.ts';
import { createAccounts } from '../gateway/accounts.ts';
import { createAdmit } from '../gateway/admission.ts';
import { followPool } from '../gateway/follow-pool.ts';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import { createMeter } from '../gateway/meter.ts';
import { placeOf } from '../gateway/routes.ts';
import { createSessions } from '../gateway/sessions.ts';
import type { Failure, Upstream } from '../gateway/upstream.ts';
import { readUser } from '../gateway/user-options.ts';
import type { Log } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { RateLimiter } from '../lib/rate-limiter.ts';
import { every } from '../lib/schedule.ts';
import { lazySecureContext } from '../proxy/check/exchange.ts';
import { refusalOf } from '../proxy/check/policy.ts';
import type { GatewayPanel } from '../proxy/pages/use-it.ts';
import type { PaidUpstreams } from '../proxy/pool/paid.ts';
import { sourcesByWord } from '../proxy/sources/load.ts';
import type { Source } from '../proxy/sources/source.ts';
import type { ProxyStore } from '../proxy/store.ts';
import { sitesByName } from '../proxy/targets/named.ts';
import type { Testimony } from '../proxy/targets/testimony.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { ownAddresses, readAuthority } from './checker.ts';
import { dialByName } from './dial-by-name.ts';

interface ServerGatewayOptions {
  runtime: Pick<Runtime, 'tcp'>;
  config: Config;
  /** Path under which browsers reach the proxy pool. */
  basePath: string;
  /** The port it listens on. */
  port: number;
  store: ProxyStore;
  testimony: Testimony;
  paid: PaidUpstreams;
  sources: readonly Source[];
  limiter: RateLimiter;
  tokens: Pick<Tokens, 'verify' | 'list'>;
  metrics: Metrics;
  report: (id: number) => Promise<unknown>;
  log: Log;
}

/** The gateway of a running server. */
interface ServerGateway {
  port: number;
  /** For the page of the pool. */
  panel: (origin: string) => GatewayPanel;
  /** Whether it needed a token as password at the start. */
  closed: boolean;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
/** Maximum delay until the first token opens the gateway. */
const LOOK_MS = 2_000;
/** Maximum number of client connections. */
const CONNECTIONS = 10_000;

/**
 * Starts the gateway over the pool. Until there is a token with its role, it listens only on loopback, so that nobody
 * else can use it.
 */
export async function startServerGateway(options: ServerGatewayOptions): Promise<ServerGateway> {
  const { runtime, config, basePath, port, paid, limiter, tokens, log } = options;
  const monotonic = () => performance.now();
  const hasTokens = async () => (await tokens.list()).some(({ role }) => role === 'gateway');
  const reachable = config.HOST.startsWith('unix:') ? LOOPBACK : config.HOST;
  let closed = await hasTokens();
  const own = new Set(ownAddresses());
  if (config.PUBLIC_URL !== undefined) own.add(new URL(config.PUBLIC_URL).hostname);
  const rules = { ports: config.GATEWAY_PORTS, allowPrivate: config.PROXY_ALLOW_PRIVATE, own };
  const meter = createMeter(options.metrics);
  const namedSites = sitesByName(config.PROXY_TARGETS ?? []);
  const namedSources = sourcesByWord(options.sources);
  requireOptions(config, (text) => readUser(text, namedSites, namedSources));
  let failed: (upstream: Upstream, failure: Failure) => void = () => {};
  const gateway: Gateway = await startGateway({
    tcp: dialByName(await runtime.tcp(), {
      refusalOf: (place) => refusalOf(place, rules),
      context: lazySecureContext(await readAuthority(config.PROXY_JUDGE_CA)),
    }),
    testimony: options.testimony,
    hostname: closed ? reachable : LOOPBACK,
    port,
    morePorts: config.GATEWAY_LISTEN,
    rules,
    tries: config.GATEWAY_TRIES,
    timeoutMs: config.GATEWAY_TIMEOUT,
    idleMs: config.GATEWAY_IDLE,
    lifetimeMs: config.GATEWAY_LIFETIME,
    strict: config.GATEWAY_STRICT_CONNECT,
    connections: CONNECTIONS,
    random: Math.random,
    monotonic,
    meter,
    onFailure: (upstream, failure) => failed(upstream, failure),
    admit: createAdmit({
      isOpen: () => !closed,
      asks: config.GATEWAY_ASK,
      verify: (token) => tokens.verify(token, 'gateway'),
      limiter,
      accounts: createAccounts({ limiter, connections: config.GATEWAY_CONNECTIONS }),
      sessions: createSessions(monotonic),
      suits: (upstream, kind) => upstream.proven[kind] || upstream.carries[kind],
      namedSites,
      namedSources,
    }),
  });
  const follower = followPool({
    store: options.store,
    engine: gateway.engine,
    report: options.report,
    paid,
    monotonic,
    onError: (error) => log('warn', 'the gateway could not read the pool', { error }),
  });
  failed = follower.failed;
  paid.start();
  follower.start();

  /**
   * Once there is a token, everyone needs one, and may connect from anywhere. That remains so if the last one is
   * revoked.
   */
  async function lookForTokens(): Promise<void> {
    if (closed || !(await hasTokens())) return;
    closed = true;
    if (reachable !== LOOPBACK) await gateway.move(reachable);
    log('info', 'gateway listening', { host: reachable, port: gateway.port, tokens: closed });
  }
  const looking = every(LOOK_MS, lookForTokens, (error) =>
    log('warn', 'the gateway could not be opened for tokens', { error }),
  );
  log('info', 'gateway listening', { port: gateway.port, tokens: closed });
  return {
    port: gateway.port,
    panel(origin) {
      const { requests, served, p95Ms } = meter.summary();
      const pac = `${origin}${basePath}/proxy.pac`;
      return { place: placeOf(origin, gateway.port), closed, pac, requests, served, p95Ms };
    },
    closed,
    async stop() {
      await looking.stop();
      gateway.stop();
      await paid.stop();
      await follower.stop();
    },
  };
}

/** @throws {ConfigError} for options of `GATEWAY_LISTEN` that do not exist. */
function requireOptions({ GATEWAY_LISTEN = [] }: Config, read: (user: string) => unknown): void {
  const faults = GATEWAY_LISTEN.flatMap(({ port, options }) => {
    try {
      read(`-${options}`);
      return [];
    } catch (error) {
      return [
        { variable: 'GATEWAY_LISTEN', message: `${port}: ${error instanceof Error ? error.message : error}` },
      ];
    }
  });
  if (faults.length > 0) throw new ConfigError(faults);
}
