import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, connect as startTls } from 'node:tls';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { createCertificates } from '../support/certificates.ts';
import { type BareGateway, startBareGateway } from '../support/gateway/bare.ts';

/** What a hostile proxy does after its prepared ServerHello. */
const ENDINGS = ['close', 'reset', 'stall', 'alert'] as const;
interface Betrayal {
  ending: (typeof ENDINGS)[number];
  /** Whether the ServerHello has the session ID of the client. */
  echoes: boolean;
}

/** How long honest proxies take; hostile ones are always faster. */
const HONEST_MS = 20;
/** How long a client waits for a handshake. */
const PATIENCE_MS = 3_000;
/** A client that has waited for a second has waited for this much longer on the gateway's clock. */
const WAITED_MS = 11_000;
let waitedMs = 0;
/** Anyone can prepare the end of a ServerHello of TLS 1.3: its cipher, version and a key of X25519. */
const CHOSEN = Buffer.from('130100002e002b0002030400330024001d0020', 'hex');
const ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 40]);

let ca: string;
let targetPort: number;
let target: Server;
const closers: (() => void)[] = [];

beforeAll(async () => {
  const certificates = await createCertificates();
  ca = certificates.ca;
  target = createTlsServer(certificates.good, (socket) => {
    socket.on('error', () => {});
    socket.on('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'),
    );
  });
  targetPort = await listen(target, '127.0.0.1');
});
afterAll(() => void target.close());
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function listen(server: Server, host: string): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
}

interface Proxy {
  place: string;
  dials: number;
  /** `null`: it tunnels to the target, or refuses as told. */
  betrayal: Betrayal | null;
  refuses: (authority: string) => boolean;
}

async function startProxy(index: number): Promise<Proxy> {
  const proxy: Proxy = { place: '', dials: 0, betrayal: null, refuses: () => false };
  const host = `127.9.1.${index + 1}`;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (head: Buffer) => {
      proxy.dials++;
      const authority = head.toString('latin1').split(' ')[1] ?? '';
      if (proxy.refuses(authority)) socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
      else if (proxy.betrayal === null) setTimeout(() => tunnel(socket), HONEST_MS);
      else betray(socket, proxy.betrayal);
    });
  });
  proxy.place = `${host}:${await listen(server, host)}`;
  closers.push(() => server.close());
  return proxy;
}

function tunnel(socket: Socket): void {
  const far = connect(targetPort, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.pipe(far).pipe(socket);
  });
  far.on('error', () => socket.destroy());
  far.on('close', () => socket.destroy());
  socket.on('close', () => far.destroy());
}

/** A client refuses a greeting without its session ID at once. With it, it waits for what follows. */
function greetingFor(hello: Buffer, echoes: boolean): Buffer {
  const session = echoes ? hello.subarray(43, 44 + (hello[43] ?? 0)) : Buffer.from([0]);
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    session,
    CHOSEN,
    Buffer.alloc(32, 9),
  ]);
  const head = Buffer.from([22, 3, 3, 0, body.length + 4, 2, 0, 0, body.length]);
  return Buffer.concat([head, body]);
}

function betray(socket: Socket, { ending, echoes }: Betrayal): void {
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  socket.once('data', (hello: Buffer) => {
    socket.write(greetingFor(hello, echoes), () => {
      if (ending === 'close') socket.end();
      if (ending === 'reset') setTimeout(() => socket.resetAndDestroy(), 5);
      if (ending === 'alert') socket.end(ALERT);
    });
  });
}

/** Asks for a page over TLS; true if it came. `user`: with its token as the password. */
function ask(gateway: BareGateway, user = '', host = 'example.com'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(gateway.port, '127.0.0.1');
    const timer = setTimeout(() => end(false), PATIENCE_MS);
    const waiting = setTimeout(() => {
      waitedMs += WAITED_MS;
    }, 1_000);
    const end = (served: boolean) => {
      clearTimeout(timer);
      clearTimeout(waiting);
      socket.destroy();
      resolve(served);
    };
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
    const login = user === '' ? '' : `Proxy-Authorization: Basic ${btoa(user)}\r\n`;
    socket.write(`CONNECT ${host}:443 HTTP/1.1\r\n${login}\r\n`);
    socket.once('data', () => {
      const secure = startTls({ socket, ca, servername: 'example.com' }, () =>
        secure.write('GET / HTTP/1.1\r\n\r\n'),
      );
      secure.on('error', () => end(false));
      secure.once('data', () => end(true));
    });
  });
}

async function failuresOf(gateway: BareGateway, requests: number, user = ''): Promise<number> {
  let failed = 0;
  for (let n = 0; n < requests; n++) if (!(await ask(gateway, user))) failed++;
  return failed;
}

async function startFarm(count: number, withTokens = false) {
  const proxies = await Promise.all(Array.from({ length: count }, (_, index) => startProxy(index)));
  const places = proxies.map(({ place }) => place);
  const monotonic = () => performance.now() + waitedMs;
  const gateway = await startBareGateway({ tcp: bunTcp, proxies: places, withTokens, monotonic });
  closers.push(() => gateway.stop());
  return { gateway, proxies };
}

describe.each([
  [1, 10],
  [3, 60],
])('%d hostile of %d proxies', (hostile, all) => {
  test.each(ENDINGS.flatMap((ending) => [true, false].map((echoes) => ({ ending, echoes }))))(
    'that $ending after a ServerHello (with the session: $echoes) cost at most two requests each, at first and later',
    async (betrayal) => {
      for (const warm of [false, true]) {
        const { gateway, proxies } = await startFarm(all);
        if (warm) expect(await failuresOf(gateway, 30)).toBe(0);
        for (const proxy of proxies.slice(0, hostile)) proxy.betrayal = betrayal;
        expect(await failuresOf(gateway, 60)).toBeLessThanOrEqual(2 * hostile);
      }
    },
  );
});

describe('one account', () => {
  test('changes no choice of another one, whatever it connects to and names as its target', async () => {
    const { gateway, proxies } = await startFarm(10, true);
    const [own, ...others] = proxies;
    if (!own) throw new Error('there is no proxy');
    for (const other of others) other.refuses = (authority) => authority.startsWith('attacker.example');
    await failuresOf(gateway, 20, 'a:victim');
    for (let n = 0; n < 100; n++) await ask(gateway, 'a-target-example.com:attacker', 'attacker.example');
    const before = own.dials;
    expect(await failuresOf(gateway, 40, 'a:victim')).toBe(0);
    expect(own.dials - before).toBeLessThan(25);
    const { lanes } = gateway.engine.evidenceOf({ id: 'victim', speaksForAll: false });
    expect(lanes.tunnel.sizes().ejected).toBe(0);
    expect(gateway.sites.knows('attacker.example')).toBe(false);
  });

  test('cannot keep a newcomer from proxies, or lead it to some, but several together do', async () => {
    const { gateway } = await startFarm(1, true);
    await failuresOf(gateway, 10, 'a:first');
    const site = 'example.com';
    expect(gateway.sites.knows(site)).toBe(false);
    expect(gateway.engine.evidenceOf({ id: 'new', speaksForAll: false }).lanes.tunnel.sizes().trusted).toBe(
      0,
    );
    await failuresOf(gateway, 10, 'a:second');
    expect(gateway.sites.knows(site)).toBe(true);
  });

  test('sets the time for further attempts of nobody else, and greetings alone set it for nobody', async () => {
    const { gateway, proxies } = await startFarm(1, true);
    const patience = (id: string) =>
      gateway.engine.evidenceOf({ id, speaksForAll: false }).hedges.tunnel.afterMs('example.com');
    const unlearnt = patience('new');
    for (const proxy of proxies) proxy.betrayal = { ending: 'close', echoes: true };
    await failuresOf(gateway, 40, 'a:first');
    expect(patience('first')).toBe(unlearnt);
    for (const proxy of proxies) proxy.betrayal = null;
    await failuresOf(gateway, 40, 'a:first');
    expect(patience('first')).toBeLessThan(unlearnt);
    expect(patience('new')).toBe(unlearnt);
  });
});
