import { NOBODY, type Tcp, type TcpListener, type TcpServer, type TcpSocket } from '../runtime/tcp.ts';
import type { Admit } from './admission.ts';
import { Client } from './client.ts';
import type { Carrier, Desk } from './desk.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import { GatewayFault } from './fault.ts';
import { createIdle } from './idle.ts';
import type { Meter } from './meter.ts';
import { refusedTarget, type TargetRules } from './target.ts';

export interface GatewayOptions extends Omit<EngineOptions, 'tcp'> {
  tcp: Tcp;
  hostname: string;
  port: number;
  /** More ports, with the options of their clients. Default: none. */
  morePorts?: readonly { port: number; options: string }[] | undefined;
  rules: TargetRules;
  admit: Admit;
  /** CONNECT is answered only after an upstream has answered it. */
  strict: boolean;
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
  /** Listens at another address on the same port, keeping the connections. Rejects if it is taken. */
  move(hostname: string): Promise<void>;
  /** Cuts all connections. */
  stop(): void;
}

const SWEEP_MS = 1_000;

/** Starts listening. Rejects if the address is taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { tcp, monotonic, meter, rules, admit, strict, idleMs, lifetimeMs } = options;
  const engine = createEngine(options);
  const carriers = new Set<Carrier>();
  const clients = new Set<Client>();
  const idle = createIdle(monotonic);
  const desk: Desk = {
    engine,
    meter,
    monotonic,
    strict,
    idle,
    carriers,
    check(target) {
      const sentence = refusedTarget(target, rules);
      if (sentence !== null) throw new GatewayFault('target_refused', sentence);
    },
  };

  const accept = (socket: TcpSocket, fixed?: string): TcpListener => {
    if (clients.size >= options.connections) {
      socket.destroy();
      return NOBODY;
    }
    const onGone = () => {
      clients.delete(client);
      meter.closed();
    };
    const admitHere: Admit = (login, peer) => admit(login, peer, fixed);
    const client = new Client({ socket, desk, admit: admitHere, onGone });
    clients.add(client);
    meter.opened();
    return client;
  };
  async function listenAt(hostname: string, port: number): Promise<TcpServer> {
    const servers = [await tcp.listen({ hostname, port }, (socket) => accept(socket))];
    const close = () => {
      for (const server of servers) server.close();
    };
    try {
      for (const more of options.morePorts ?? [])
        servers.push(
          await tcp.listen({ hostname, port: more.port }, (socket) => accept(socket, more.options)),
        );
    } catch (error) {
      close();
      throw error;
    }
    return { port: servers[0]?.port ?? port, close };
  }

  let server = await listenAt(options.hostname, options.port);

  function sweep(): void {
    const now = monotonic();
    idle.sweep();
    for (const carrier of carriers) {
      if (now - carrier.movedAt > Math.min(carrier.patienceMs, idleMs)) carrier.cut('idle');
      else if (now - carrier.startedAt > lifetimeMs) carrier.cut('lifetime');
      else carrier.look?.(now);
    }
    for (const client of clients) {
      // Those with a carrier were cut with it.
      if (now - client.startedAt > lifetimeMs) client.socket.destroy();
      else client.look(now);
    }
  }
  const timer = setInterval(sweep, Math.min(SWEEP_MS, idleMs));

  return {
    get port() {
      return server.port;
    },
    engine,
    meter,
    async move(hostname) {
      const { port } = server;
      server.close();
      server = await listenAt(hostname, port);
    },
    stop() {
      clearInterval(timer);
      server.close();
      idle.close();
      for (const carrier of carriers) carrier.cut('stop');
      for (const client of clients) client.socket.destroy();
    },
  };
}
