import type { Socket } from 'bun';

/** How an upstream of the farm behaves. */
export type FarmRole =
  /** HTTP proxy that forwards and opens tunnels. */
  | 'http'
  | 'socks4'
  | 'socks5'
  /** Accepts connections and stays silent. */
  | 'hang'
  | 'reset'
  /** Answers everyone with 407. */
  | 'login'
  /** Answers every request with 200 and its own page. */
  | 'portal'
  /** The same, but silent about hosts that do not exist. */
  | 'coy'
  /** Answers only for hosts that do not exist, with a page of its own, as name servers of some providers make it. */
  | 'helpful'
  /** Answers CONNECT with 200, and then sends a page. */
  | 'liar'
  /** Reads a whole request and then ends without an answer. */
  | 'swallow'
  /** Answers everyone with 502. */
  | 'sick'
  | Traitor;

/**
 * Answers a ClientHello at once with a prepared ServerHello, and then does what its name says. A client refuses a `bare`
 * one at once. With its own session ID (`echo`), it waits for what follows.
 */
export type Traitor = `${'bare' | 'echo'}-${(typeof ENDINGS)[number]}`;
const ENDINGS = ['close', 'reset', 'stall', 'alert'] as const;
export const TRAITORS = ENDINGS.flatMap((ending): Traitor[] => [`bare-${ending}`, `echo-${ending}`]);

interface FarmOptions {
  /** How long an honest proxy takes to open a tunnel. */
  delayOf?: (address: string) => number;
  /** Reports whether a proxy refuses a tunnel. */
  refuses?: (address: string, authority: string) => boolean;
  /** Called when a traitor has fallen silent. */
  onStall?: () => void;
}

interface Side {
  role: FarmRole;
  address: string;
  buffer: Buffer;
  other: Socket<Side> | null;
  kept: Uint8Array[];
  ending: boolean;
  ended: boolean;
  opened: boolean;
}

const PAGE = '<html><title>Welcome to our network</title>Please log in.</html>';
const PORTAL = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${PAGE.length}\r\n\r\n${PAGE}`;
const LOGIN =
  'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="farm"\r\nContent-Length: 0\r\n\r\n';
const SICK = 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nno\n';
/** Of those that answer every request with the same. */
const ANSWERS: Partial<Record<FarmRole, string>> = {
  ...{ login: LOGIN, portal: PORTAL, coy: PORTAL, sick: SICK },
  swallow: '',
};

/** Anyone can prepare the end of a ServerHello of TLS 1.3: its cipher, version and a key of X25519. */
const CHOSEN = Buffer.from('130100002e002b0002030400330024001d0020', 'hex');
const ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 40]);

/**
 * Thousands of proxies behind one port: `roleOf` says how the one at each address of 127.0.0.0/8 behaves. They
 * connect to 127.0.0.1 for any name.
 */
export function startGatewayFarm(
  roleOf: (address: string) => FarmRole,
  { delayOf = () => 0, refuses = () => false, onStall = () => {} }: FarmOptions = {},
) {
  const dials = new Map<string, number>();
  const exits = new Map<number, string>();
  const sides = new Set<Side>();
  const newSide = (role: FarmRole, address: string): Side => {
    const side = {
      role,
      address,
      buffer: Buffer.alloc(0),
      other: null,
      kept: [],
      ending: false,
      ended: false,
      opened: false,
    };
    sides.add(side);
    return side;
  };

  const handlers = {
    data(socket: Socket<Side>, bytes: Buffer) {
      const { data } = socket;
      if (data.other) return send(data.other, bytes, socket);
      data.buffer = Buffer.concat([data.buffer, bytes]);
      play(socket);
    },
    drain(socket: Socket<Side>) {
      const { kept } = socket.data;
      while (kept[0]) {
        const sent = Math.max(0, socket.write(kept[0]));
        if (sent < kept[0].length) {
          kept[0] = kept[0].subarray(sent);
          return;
        }
        kept.shift();
      }
      socket.data.other?.resume();
      if (socket.data.ending) finish(socket);
    },
    end(socket: Socket<Side>) {
      socket.data.ended = true;
      if (socket.data.other) finish(socket.data.other);
      else socket.end();
    },
    close(socket: Socket<Side>, error?: Error) {
      sides.delete(socket.data);
      const { other } = socket.data;
      if (other && error) other.terminate();
      else if (other) finish(other);
    },
    error() {},
  };

  const server = Bun.listen<Side>({
    hostname: '0.0.0.0',
    port: 0,
    allowHalfOpen: true,
    socket: {
      ...handlers,
      open(socket) {
        const address = socket.localAddress.replace('::ffff:', '');
        dials.set(address, (dials.get(address) ?? 0) + 1);
        socket.data = newSide(roleOf(address), address);
        if (socket.data.role === 'reset') socket.terminate();
      },
    },
  });

  function play(socket: Socket<Side>): void {
    const { data } = socket;
    if (data.role.includes('-') && data.opened) {
      if (betray(socket)) onStall();
      return;
    }
    if (data.opened || data.role === 'hang') return;
    if (data.role === 'socks5') return void playSocks5(socket);
    if (data.role === 'socks4') return void playSocks4(socket);
    const end = data.buffer.indexOf('\r\n\r\n');
    if (end < 0) return;
    const isCanary = data.buffer.includes('.invalid');
    if (data.role === 'coy' && isCanary) return;
    if (data.role === 'helpful' && isCanary) return void answer(socket, PORTAL);
    if (data.role in ANSWERS) return void answer(socket, ANSWERS[data.role] ?? '');
    const head = data.buffer.toString('latin1', 0, end);
    const rest = data.buffer.subarray(end + 4);
    const [method = '', target = ''] = head.split(' ');
    data.opened = true;
    if (method === 'CONNECT') {
      if (refuses(data.address, target)) return void answer(socket, SICK);
      const ok = 'HTTP/1.1 200 OK\r\n\r\n';
      if (data.role.includes('-')) {
        data.buffer = rest;
        socket.write(ok);
        if (betray(socket)) onStall();
        return;
      }
      if (data.role === 'liar') return void answer(socket, `${ok}${PORTAL}`);
      const port = Number(target.split(':').at(-1));
      const delayMs = delayOf(data.address);
      if (delayMs === 0) open(socket, port, ok, rest);
      else setTimeout(() => open(socket, port, ok, rest), delayMs);
      return;
    }
    const url = new URL(target);
    const origin = `${method} ${url.pathname}${url.search}${head.slice(method.length + 1 + target.length)}\r\n\r\n`;
    open(socket, Number(url.port || 80), '', Buffer.concat([Buffer.from(origin, 'latin1'), rest]));
  }

  function playSocks4(socket: Socket<Side>): void {
    const { buffer } = socket.data;
    const named = buffer[4] === 0 && buffer[5] === 0 && buffer[6] === 0;
    const userEnd = buffer.indexOf(0, 8);
    const end = named && userEnd > 0 ? buffer.indexOf(0, userEnd + 1) : userEnd;
    if (end < 0) return;
    socket.data.opened = true;
    open(socket, buffer.readUInt16BE(2), Buffer.from([0, 90, 0, 0, 0, 0, 0, 0]), buffer.subarray(end + 1));
  }

  function playSocks5(socket: Socket<Side>): void {
    const { data } = socket;
    if (data.buffer.length === 3) return void socket.write(Buffer.from([5, 0]));
    const request = data.buffer.subarray(3);
    const hostBytes = request[3] === 1 ? 4 : request[3] === 4 ? 16 : 1 + (request[4] ?? 0);
    if (request.length < 4 + hostBytes + 2) return;
    data.opened = true;
    const rest = request.subarray(4 + hostBytes + 2);
    open(socket, request.readUInt16BE(4 + hostBytes), Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]), rest);
  }

  function open(socket: Socket<Side>, port: number, yes: string | Buffer, rest: Buffer): void {
    Bun.connect<Side>({
      hostname: '127.0.0.1',
      port,
      allowHalfOpen: true,
      data: newSide(socket.data.role, socket.data.address),
      socket: {
        ...handlers,
        open(far) {
          if (!sides.has(socket.data)) return void far.terminate();
          exits.set(far.localPort, socket.data.address);
          far.data.other = socket;
          socket.data.other = far;
          socket.write(yes);
          if (rest.length > 0) send(far, rest, socket);
        },
      },
    }).catch(() => answer(socket, SICK));
  }

  return {
    port: server.port,
    /** Connections that each address got. */
    dials,
    /** Returns the address of the proxy whose connection to a target comes from this port, as the target sees it. */
    exitOf: (port: number) => exits.get(port),
    /** Connections that are open, tunnels' far ends included. */
    open: () => sides.size,
    stop: () => server.stop(true),
  };
}

/** Returns true if it falls silent. */
function betray(socket: Socket<Side>): boolean {
  const { buffer, role } = socket.data;
  if (buffer.length < 44) return false;
  const [kind, ending] = role.split('-');
  const session = kind === 'echo' ? buffer.subarray(43, 44 + (buffer[43] ?? 0)) : Buffer.from([0]);
  const parts = [Buffer.from([3, 3]), Buffer.alloc(32, 7), session, CHOSEN, Buffer.alloc(32, 9)];
  const body = Buffer.concat(parts);
  socket.data.buffer = Buffer.alloc(0);
  socket.write(Buffer.from([22, 3, 3, 0, body.length + 4, 2, 0, 0, body.length]));
  socket.write(body);
  if (ending === 'alert') socket.write(ALERT);
  if (ending === 'alert' || ending === 'close') socket.end();
  if (ending === 'reset') setTimeout(() => socket.terminate(), 5);
  return ending === 'stall';
}

function answer(socket: Socket<Side>, text: string): void {
  socket.data.opened = true;
  socket.write(text);
  socket.end();
}

function send(to: Socket<Side>, bytes: Uint8Array, from: Socket<Side>): void {
  const sent = to.data.kept.length > 0 ? 0 : Math.max(0, to.write(bytes));
  if (sent === bytes.length) return;
  to.data.kept.push(bytes.subarray(sent));
  from.pause();
}

function finish(socket: Socket<Side>): void {
  socket.data.ending = true;
  if (socket.data.kept.length > 0) return;
  if (socket.data.ended) socket.end();
  else socket.shutdown();
}
