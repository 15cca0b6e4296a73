import { createLocalRateLimiter } from '../../../adapters/local/rate-limiter.ts';
import { createAdmit } from '../../../src/gateway/admission.ts';
import type { GatewayOptions } from '../../../src/gateway/desk.ts';
import { startGateway } from '../../../src/gateway/gateway.ts';
import { createMeter } from '../../../src/gateway/meter.ts';
import { takeReports } from '../../../src/gateway/reports.ts';
import { Sessions } from '../../../src/gateway/sessions.ts';
import { unknownUpstream } from '../../../src/gateway/upstream.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { createTestimony } from '../../../src/proxy/targets/testimony.ts';
import type { Tcp } from '../../../src/runtime/tcp.ts';

export interface BareOptions {
  tcp: Tcp;
  /** `ip:port` of HTTP proxies. */
  proxies: readonly string[];
  /** Whether they have passed a check. Default: true. */
  proven?: boolean;
  limits?: Partial<GatewayOptions>;
  /** Connections of one user. */
  each?: number;
  /** In ms. Default: the clock of the process. */
  monotonic?: () => number;
  /** Called with the outcome of each request: `served` when the answer begins. */
  onSettled?: (outcome: string) => void;
  /** Every password is a token, and the account. Default: an open gateway. */
  withTokens?: boolean;
  /** Returns what is known of a token. Default: it is the account, without limits. */
  verify?: Parameters<typeof createAdmit>[0]['verify'];
}

/** A gateway in this process, for targets on this machine. */
export async function startBareGateway(options: BareOptions) {
  const {
    tcp,
    proxies,
    limits = {},
    each = 10_000,
    withTokens = false,
    proven = true,
    onSettled = () => {},
    monotonic = () => performance.now(),
  } = options;
  const limiter = createLocalRateLimiter({ now: monotonic });
  const testimony = createTestimony({ random: Math.random, monotonic });
  const meter = createMeter(createMetrics());
  const sessions = new Sessions(monotonic);
  let open = 0;
  let onEmpty = () => {};
  const gateway = await startGateway({
    tcp,
    testimony,
    hostname: '127.0.0.1',
    port: 0,
    rules: { ports: null, allowPrivate: true, own: new Set() },
    tries: 8,
    timeoutMs: 10_000,
    idleMs: 300_000,
    lifetimeMs: 86_400_000,
    connections: 10_000,
    strict: false,
    retry: true,
    random: Math.random,
    onFailure: () => {},
    ...limits,
    monotonic,
    meter: {
      ...meter,
      settled(kind, outcome, ms) {
        meter.settled(kind, outcome, ms);
        onSettled(outcome);
      },
      opened: () => void open++,
      closed: () => --open === 0 && onEmpty(),
    },
    admit: createAdmit({
      isOpen: () => !withTokens,
      verify: options.verify ?? (async (token) => ({ id: token, rate: null, quota: null })),
      limiter,
      connections: each,
      sessions,
      names: { sites: new Map(), sources: new Map([['empty', new Set(['empty'])]]) },
    }),
  });
  for (const place of proxies) {
    const [ip = '', port] = place.split(':');
    const upstream = unknownUpstream({ protocol: 'http', ip, port: Number(port) });
    gateway.engine.set({ ...upstream, proven });
  }
  return Object.assign(gateway, {
    sites: testimony.common,
    report: takeReports({ engine: gateway.engine, sessions, testimony }),
    /** Connections of clients that are open. */
    open: () => open,
    /** Resolves when there are none. */
    empty: () => (open === 0 ? Promise.resolve() : new Promise<void>((resolve) => (onEmpty = resolve))),
  });
}

export type BareGateway = Awaited<ReturnType<typeof startBareGateway>>;
