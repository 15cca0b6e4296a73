import { canonicalAddress, clientNetwork } from '../lib/address.ts';
import { systemClock } from '../lib/clock.ts';
import { OwnedMap } from '../lib/owned-map.ts';
import { NOBODY, type TcpListener, type TcpServer, type TcpSocket } from '../runtime/tcp.ts';
import { Client, type Host, type Job } from './client.ts';
import { Desk, type GatewayOptions, WAKE_MS } from './desk.ts';
import { IDLE_MS } from './idle.ts';
import { sendPlain } from './plain.ts';
import { Relay } from './relay.ts';
import { Tunnel } from './tunnel.ts';

const SWEEP_MS = 1_000;
/** How long a tunnel carries nothing until a server that stops waits for it no more. Browsers keep theirs open for minutes. */
const QUIET_MS = 3_000;
/** How often it is looked whether the tokens of connections were revoked. */
const REVOKED_MS = 2_000;
/** Share of all connections whose users may be unknown. Above it, the network with most of these loses its oldest. */
const STRANGERS = 1 / 2;

/** Starts listening. Rejects if an address is taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const gateway = new Gateway(options);
  try {
    await gateway.move(options.hostname);
  } catch (error) {
    gateway.stop();
    throw error;
  }
  return gateway;
}

/** One proxy in front of many: a single port for HTTP, CONNECT and SOCKS5. */
export class Gateway extends Desk implements Host {
  readonly #clients = new Set<Client>();
  /** Those of which no user is known, by network and number. */
  readonly #strangers: OwnedMap<Client>;
  #count = 0;
  #sweptAt = 0;
  readonly #timers: ReturnType<typeof setInterval>[];
  /** The first is the one that others are told of. */
  #servers: TcpServer[] = [];
  #hostname: string | null = null;

  constructor(options: GatewayOptions) {
    super(options);
    this.#strangers = new OwnedMap(options.connections * STRANGERS, (_, { socket }) => socket.destroy());
    this.#timers = [
      setInterval(() => this.#sweep(), Math.min(SWEEP_MS, options.idleMs)),
      setInterval(() => this.#dropRevoked(), REVOKED_MS),
    ];
  }

  get port(): number {
    return this.#servers[0]?.port ?? this.options.port;
  }

  /**
   * Listens at another address on the same port, keeping the connections. Rejects if it is taken, and then listens
   * where it did.
   */
  async move(hostname: string): Promise<void> {
    const { port } = this;
    this.#close();
    try {
      await this.#listen(hostname, port);
      this.#hostname = hostname;
    } catch (error) {
      this.#close();
      if (this.#hostname !== null) await this.#listen(this.#hostname, port);
      throw error;
    }
  }

  /** Takes no more connections and requests. Resolves when no client is served any more, except over quiet tunnels. */
  async drain(): Promise<void> {
    this.isEnding = true;
    this.#close();
    /** Not waited for longer: many notice that a kept connection has ended only when they need it again. */
    const dismissed = new Set<Client>();
    const isRecent = (at: number) => this.options.monotonic() - at < QUIET_MS;
    const isServed = (client: Client) => {
      const { serving, startedAt } = client;
      if (serving instanceof Relay) return isRecent(serving.movedAt);
      return serving instanceof Tunnel ? isRecent(startedAt) : !dismissed.has(client);
    };
    while ([...this.#clients].some(isServed)) {
      for (const client of [...this.#clients].filter(({ serving }) => serving === null)) {
        dismissed.add(client);
        client.close();
      }
      await systemClock.sleep(WAKE_MS);
    }
  }

  /** Cuts all connections. Clients that wait for an answer are told. */
  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#close();
    this.idle.close();
    for (const carrier of this.carriers) carrier.cut();
    for (const client of this.#clients) if (!client.isClosing) client.drop();
  }

  serve(job: Job): void {
    const { request } = job;
    if (request) sendPlain({ ...job, request });
    else new Tunnel(job).begin();
  }

  gone(client: Client): void {
    this.#clients.delete(client);
    this.meter.closed();
  }

  #accept(socket: TcpSocket, fixed: string | undefined): TcpListener {
    // Behind an address of IPv6, those of IPv4 are spelled `::ffff:203.0.113.9`.
    const peer = canonicalAddress(socket.peer) ?? socket.peer;
    if (this.#clients.size >= this.options.connections) {
      socket.destroy();
      return NOBODY;
    }
    const [network, number] = [clientNetwork(peer), `${this.#count++}`];
    const onKnown = () => this.#strangers.delete(network, number);
    const client = new Client({ socket, host: this, peer, onKnown, fixed });
    this.#strangers.set(network, number, client);
    this.#clients.add(client);
    this.meter.opened();
    return client;
  }

  /** Listens on all of the ports, or rejects. */
  async #listen(hostname: string, first: number): Promise<void> {
    const { tcp, morePorts = [] } = this.options;
    for (const { port, options } of [{ port: first, options: undefined }, ...morePorts]) {
      const listening = tcp.listen({ hostname, port }, (socket) => this.#accept(socket, options));
      const onFault = (cause: unknown) => {
        throw new Error(`The gateway cannot listen on ${hostname}:${port}; the port may be taken.`, {
          cause,
        });
      };
      this.#servers.push(await listening.catch(onFault));
    }
  }

  #close(): void {
    for (const server of this.#servers.splice(0)) server.close();
  }

  /** Ends what stands still, is too old, or keeps the gateway waiting. */
  #sweep(): void {
    const { monotonic, idleMs, lifetimeMs } = this.options;
    const now = monotonic();
    // Otherwise this process itself has stood still, and not yet read what has come.
    const isInTime = now - this.#sweptAt < 1.5 * SWEEP_MS;
    this.#sweptAt = now;
    this.idle.close(now - IDLE_MS);
    for (const carrier of this.carriers) {
      if (now - carrier.movedAt > Math.min(carrier.patienceMs ?? idleMs, idleMs)) carrier.cut(true);
      else if (isInTime) carrier.look?.(now);
    }
    for (const client of this.#clients) {
      if (now - client.startedAt > lifetimeMs) client.drop();
      else client.look(now);
    }
  }

  #dropRevoked(): void {
    const asked = new Map<string, Promise<boolean>>();
    for (const client of this.#clients) client.dropIfRevoked(asked);
  }
}
