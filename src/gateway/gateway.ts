import { type Bans, createBans } from '../proxy/targets/bans.ts';
import type { Tcp, TcpServer } from '../runtime/tcp.ts';
import type { Admit } from './admission.ts';
import type { Carrier, Desk } from './desk.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import { GatewayFault, noAnswer, noUpstream } from './fault.ts';
import { createGuests, type Guests } from './guests.ts';
import { createIdle } from './idle.ts';
import { createJournal, type Entry, type Journal } from './journal.ts';
import type { Meter } from './meter.ts';
import { refusedTarget, type TargetRules } from './target.ts';

export interface GatewayOptions extends Omit<EngineOptions, 'tcp' | 'bans'> {
  tcp: Tcp;
  hostname: string;
  port: number;
  /** More ports, with the options of their clients. Default: none. */
  morePorts?: readonly { port: number; options: string }[] | undefined;
  rules: TargetRules;
  admit: Admit;
  /** CONNECT is answered only after an upstream has answered it. */
  strict: boolean;
  /** GET and HEAD that a site refuses go through further exits. */
  retry: boolean;
  /** Reports whether the pool is being filled for the first time, so that clients wait. Default: never. */
  filling?: () => boolean;
  /** Called with each request that has come to its answer or its end. */
  onSettled?: (entry: Entry) => void;
  /** A tunnel or a response without traffic for this long is closed. */
  idleMs: number;
  /** Maximum lifetime of a client's connection, whatever it does. */
  lifetimeMs: number;
  /** Maximum number of client connections. */
  connections: number;
}

/** One proxy in front of many: a single port for HTTP, CONNECT and SOCKS5. */
export interface Gateway {
  readonly port: number;
  readonly engine: Engine;
  readonly meter: Meter;
  readonly bans: Bans;
  readonly journal: Journal;
  /**
   * Listens at another address on the same port, keeping the connections. Rejects if it is taken, and then listens
   * where it did.
   */
  move(hostname: string): Promise<void>;
  /** Cuts all connections. */
  stop(): void;
}

const SWEEP_MS = 1_000;
/** How often it is looked whether the tokens of connections were revoked. */
const REVOKED_MS = 2_000;
/** How often it is looked whether clients wait no longer for an upstream. */
const WAKE_MS = 100;

interface Waiting {
  has: () => boolean;
  until: number;
  go: () => void;
}

/** Starts listening. Rejects if the address is taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { tcp, monotonic, meter, rules, admit, strict, retry, idleMs, lifetimeMs } = options;
  const bans = createBans(monotonic);
  const engine = createEngine({ ...options, bans });
  const journal = createJournal(Date.now);
  const { filling = () => false } = options;
  const waiting = new Set<Waiting>();
  const carriers = new Set<Carrier>();
  const idle = createIdle(monotonic);
  const desk: Desk = {
    engine,
    meter,
    settled(asked, outcome, result = { tries: 0 }) {
      const ms = monotonic() - asked.startedAt;
      meter.settled(asked.kind, outcome, ms);
      const entry = journal.note(asked, { outcome, ms, ...result });
      options.onSettled?.(entry);
    },
    monotonic,
    strict,
    retry,
    idle,
    carriers,
    filled(kind, { account, suits }) {
      const has = () => engine.evidenceOf(account).lanes[kind].has(suits);
      if (!filling() || has()) return null;
      return new Promise((go) => waiting.add({ has, go, until: monotonic() + options.timeoutMs }));
    },
    unanswered: (kind, target, tries) =>
      tries > 0 ? noAnswer(target, tries) : noUpstream([...engine.upstreams(kind)].length, filling()),
    check(target) {
      const sentence = refusedTarget(target, rules);
      if (sentence !== null) throw new GatewayFault('target_refused', sentence);
    },
  };

  function wake(): void {
    for (const one of waiting) {
      if (filling() && monotonic() < one.until && !one.has()) continue;
      waiting.delete(one);
      one.go();
    }
  }

  const guests = createGuests({ desk, admit, connections: options.connections, lifetimeMs });
  const listenAt = (hostname: string, port: number) =>
    listenOn(tcp, hostname, [{ port }, ...(options.morePorts ?? [])], guests.accept);

  let { hostname } = options;
  let server = await listenAt(hostname, options.port);

  function sweep(): void {
    const now = monotonic();
    idle.sweep();
    for (const carrier of carriers) {
      if (now - carrier.movedAt > Math.min(carrier.patienceMs, idleMs)) carrier.cut('idle');
      else if (now - carrier.startedAt > lifetimeMs) carrier.cut('lifetime');
      else carrier.look?.(now);
    }
    guests.sweep(now);
  }
  const dropping = setInterval(guests.dropRevoked, REVOKED_MS);
  const waking = setInterval(wake, WAKE_MS);
  const timer = setInterval(sweep, Math.min(SWEEP_MS, idleMs));

  return {
    get port() {
      return server.port;
    },
    engine,
    meter,
    bans,
    journal,
    async move(to) {
      const { port } = server;
      server.close();
      try {
        server = await listenAt(to, port);
        hostname = to;
      } catch (error) {
        server = await listenAt(hostname, port);
        throw error;
      }
    },
    stop() {
      clearInterval(timer);
      clearInterval(waking);
      clearInterval(dropping);
      server.close();
      idle.close();
      for (const carrier of carriers) carrier.cut('stop');
      guests.close();
    },
  };
}

/** Listens on all of the ports, or rejects. The port of what it returns is the first one. */
async function listenOn(
  tcp: Tcp,
  hostname: string,
  ports: readonly { port: number; options?: string }[],
  accept: Guests['accept'],
): Promise<TcpServer> {
  const servers: TcpServer[] = [];
  const close = () => {
    for (const server of servers) server.close();
  };
  try {
    for (const { port, options } of ports) {
      const listening = tcp.listen({ hostname, port }, (socket) => accept(socket, options));
      const onFault = (cause: unknown) => {
        throw new Error(`The gateway cannot listen on ${hostname}:${port}; the port may be taken.`, {
          cause,
        });
      };
      servers.push(await listening.catch(onFault));
    }
  } catch (error) {
    close();
    throw error;
  }
  return { port: servers[0]?.port ?? 0, close };
}
