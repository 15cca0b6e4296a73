import { createHolders } from '../access/holders.ts';
import type { Config } from '../config.ts';
import { ConfigError } from '../errors.ts';
import { createAdmit } from '../gateway/admission.ts';
import { followPool } from '../gateway/follow-pool.ts';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import { createMeter } from '../gateway/meter.ts';
import { takeReports } from '../gateway/reports.ts';
import { Sessions } from '../gateway/sessions.ts';
import type { TargetRules } from '../gateway/target.ts';
import { readUser } from '../gateway/user-options.ts';
import { isLocal, type RequestContext } from '../http/context.ts';
import { bracketed } from '../lib/address.ts';
import type { Metrics } from '../lib/metrics.ts';
import { every } from '../lib/schedule.ts';
import { lazySecureContext } from '../proxy/check/exchange.ts';
import { isRefused } from '../proxy/check/policy.ts';
import type { GatewayPanel } from '../proxy/pages/use-it.ts';
import { sourcesByWord } from '../proxy/sources/load.ts';
import { sitesByName } from '../proxy/targets/ask.ts';
import type { Testimony } from '../proxy/targets/testimony.ts';
import { ownAddresses, readAuthority } from './checker.ts';
import { dialByName } from './dial-by-name.ts';
import type { Parts } from './feature.ts';
import type { Pool } from './pool.ts';

const monotonic = () => performance.now();
const LOOPBACK = '127.0.0.1';
/** Maximum delay until the first token opens the gateway. */
const LOOK_MS = 2_000;
const CONNECTIONS = 10_000;

/**
 * Starts the gateway over the pool on the port. Until there is a token with its role, it listens only on loopback, so
 * that nobody else can use it.
 */
export async function startServerGateway(
  { runtime, config, stores, operations, log }: Parts,
  { service, sources, paid }: Pool,
  { port, testimony }: { port: number; testimony: Testimony },
) {
  const { usage, tokens, metrics } = operations;
  const { limiter } = stores;
  const hasTokens = async () => (await tokens.list()).some(({ role }) => role === 'gateway');
  const reachable = config.HOST.startsWith('unix:') ? LOOPBACK : config.HOST;
  const isHere = isLocal(`http://${bracketed(reachable)}`);
  let closed = await hasTokens();
  /** True once it listens for everyone with a token. */
  let isOpened = closed;
  const rules = rulesOf(config);
  const meter = createMeter(metrics);
  const names = { sites: sitesByName(config.PROXY_TARGETS ?? []), sources: sourcesByWord(sources) };
  requireOptions(config, (text) => readUser('', names, text));
  const sessions = new Sessions(monotonic);
  let follower: ReturnType<typeof followPool> | null = null;
  const gateway: Gateway = await startGateway({
    tcp: dialByName(await runtime.tcp(), {
      isRefused: (place) => isRefused(place, rules),
      context: lazySecureContext(await readAuthority(config.PROXY_JUDGE_CA)),
    }),
    testimony,
    hostname: closed ? reachable : LOOPBACK,
    port,
    rules,
    ...settingsOf(config),
    random: Math.random,
    monotonic,
    meter,
    filling: () => follower?.isFilling() ?? true,
    onSettled({ at: _, account, ...facts }) {
      if (closed) usage.note(account, { requests: 1 });
      if (config.GATEWAY_LOG)
        log('info', 'gateway request', { ...facts, [closed ? 'token' : 'peer']: account });
    },
    onFailure: (upstream, failure) => follower?.failed(upstream, failure),
    admit: createAdmit({
      isOpen: () => !closed,
      asks: config.GATEWAY_ASK,
      verify: (token) => tokens.verify(token, 'gateway'),
      // Apart from those of the server: guesses here must not keep out an administrator at the same address.
      calm: createHolders({
        ...{ tokens, now: monotonic, mostBytes: 0 },
        limiter: { take: (key, ...rest) => limiter.take(`${key} gateway`, ...rest) },
      }),
      limiter,
      connections: config.GATEWAY_CONNECTIONS,
      onBytes: (id, bytes) => closed && usage.note(id, { bytes }),
      sessions,
      names,
    }),
  });
  follower = followPool({
    store: stores.proxies,
    filling: async () => ['starting', 'filling'].includes((await service.status()).condition),
    engine: gateway.engine,
    report: (id, error) => service.report(id, { ok: false, error }),
    paid,
    monotonic,
    onError: (error) => log('warn', 'the gateway could not read the pool', { error }),
  });
  countExits(gateway, metrics);
  paid.start();
  follower.start();

  /**
   * Once there is a token, everyone needs one, and may connect from anywhere. That remains so if the last one is
   * revoked.
   */
  async function lookForTokens(): Promise<void> {
    if (isOpened || !(await hasTokens())) return;
    closed = true;
    if (reachable !== LOOPBACK) await gateway.move(reachable);
    isOpened = true;
    log('info', 'gateway listening', { host: reachable, port: gateway.port, tokens: closed });
  }
  const looking = every(LOOK_MS, lookForTokens, (error) =>
    log('warn', 'the gateway could not be opened for tokens', { error }),
  );
  log('info', 'gateway listening', { port: gateway.port, tokens: closed });
  return {
    port: gateway.port,
    /** For the page of the pool. */
    panel: (context: RequestContext) => panelFor(gateway, closed, closed && !isHere ? context.origin : null),
    closed: () => closed,
    journal: gateway.journal,
    report: takeReports({
      engine: gateway.engine,
      sessions,
      testimony,
      onReport: (id, { ok, site: target, error }) =>
        void service.report(id, { ok, target, error }).catch(() => {}),
    }),
    drain: () => looking.stop().then(() => gateway.drain()),
    async stop(): Promise<void> {
      await looking.stop();
      gateway.stop();
      await Promise.all([follower.stop(), usage.stop(), paid.stop()]);
    },
  };
}

function settingsOf(config: Config) {
  return {
    morePorts: config.GATEWAY_LISTEN,
    tries: config.GATEWAY_TRIES,
    timeoutMs: config.GATEWAY_TIMEOUT,
    idleMs: config.GATEWAY_IDLE,
    lifetimeMs: config.GATEWAY_LIFETIME,
    strict: config.GATEWAY_STRICT_CONNECT,
    retry: config.GATEWAY_RETRY,
    connections: CONNECTIONS,
  };
}

function rulesOf(config: Config): TargetRules {
  const own = new Set(ownAddresses());
  if (config.PUBLIC_URL !== undefined) own.add(new URL(config.PUBLIC_URL).hostname);
  return { ports: config.GATEWAY_PORTS, allowPrivate: config.PROXY_ALLOW_PRIVATE, own };
}

/** Shows how many exits there are to choose from, and how many were chosen. */
function countExits({ engine, journal }: Gateway, metrics: Metrics): void {
  metrics.gauge(
    'picpool_gateway_exits',
    'Exits that have worked for anyone, those that have not yet, and those that any site is kept from.',
    ['state'],
    () => Object.entries({ ...engine.exits(), shut_out: engine.bans.count() }),
  );
  metrics.value(
    'picpool_gateway_exits_used',
    'Exits that have served a request in the last five minutes.',
    () => journal.exitsUsed(),
  );
}

/** Returns what the page of the pool says of the gateway. `origin`: that of the page, if the gateway listens there as well. */
function panelFor({ meter, port }: Gateway, closed: boolean, origin: string | null): GatewayPanel {
  const host = origin ? new URL(origin).hostname : 'localhost';
  return { place: `${host}:${port}`, closed, ...meter.summary() };
}

/** @throws {ConfigError} for options of `GATEWAY_LISTEN` that do not exist. */
function requireOptions({ GATEWAY_LISTEN = [] }: Config, read: (options: string) => unknown): void {
  const faults = GATEWAY_LISTEN.flatMap(({ port, options }) => {
    try {
      read(options);
      return [];
    } catch (error) {
      return [
        { variable: 'GATEWAY_LISTEN', message: `${port}: ${error instanceof Error ? error.message : error}` },
      ];
    }
  });
  if (faults.length > 0) throw new ConfigError(faults);
}
