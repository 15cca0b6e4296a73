import { NOBODY, type Tcp, type TcpListener, type TcpSocket } from '../../src/runtime/tcp.ts';
import { between, chance, happens, whole } from './chance.ts';
import { later, stir } from './time.ts';

/** One end of a connection in memory, for the code under test and for what it talks to alike. */
export interface WireEnd extends TcpSocket {
  /** Both halves have ended, or the connection was reset. */
  readonly isClosed: boolean;
}

/** Makes both ends of a connection. Bytes arrive in order, in pieces of any size, after some milliseconds. */
function createWire(peer: string, full: number): [WireEnd, WireEnd] {
  const one = new End(peer, full);
  const other = new End('127.0.0.1', full);
  one.other = other;
  other.other = one;
  return [one, other];
}

/** What a socket hands over at once, in bytes. */
const MOST_AT_ONCE = 64 * 1024;

type Event = { bytes: Uint8Array } | 'end' | 'reset';

class End implements WireEnd {
  readonly peer: string;
  listener: TcpListener = NOBODY;
  other!: End;
  isClosed = false;
  /** What is on its way to this end. */
  #coming: Event[] = [];
  #isPaused = false;
  #isWaiting = false;
  #hasEnded = false;
  #wasEnded = false;

  readonly #full: number;

  constructor(peer: string, full: number) {
    this.peer = peer;
    this.#full = full;
  }

  write(bytes: Uint8Array): boolean {
    if (this.isClosed || this.#hasEnded) return true;
    stir();
    for (let from = 0; from < bytes.length; ) {
      const size = happens(0.7) ? MOST_AT_ONCE : whole(1, 40);
      this.other.#take({ bytes: bytes.slice(from, from + size) });
      from += size;
    }
    if (!happens(this.#full)) return true;
    later(between(0, 5), () => !this.isClosed && this.listener.drained());
    return false;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#deliverLater();
  }

  end(): void {
    if (this.isClosed || this.#hasEnded) return;
    this.#hasEnded = true;
    this.other.#take('end');
    if (this.#wasEnded) this.#close(null);
  }

  destroy(): void {
    if (this.isClosed) return;
    this.other.#take('reset');
    this.#close(null);
  }

  #take(event: Event): void {
    this.#coming.push(event);
    this.#deliverLater();
  }

  #deliverLater(): void {
    if (this.#isWaiting || this.#coming.length === 0) return;
    this.#isWaiting = true;
    later(chance() ** 2 * 3, () => {
      this.#isWaiting = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    if (this.isClosed) return;
    const isReset = this.#coming.includes('reset');
    if (this.#isPaused && !isReset) return;
    const event = this.#coming.shift();
    if (event === undefined) return;
    stir();
    if (event === 'reset') {
      this.#close('ECONNRESET');
    } else if (event === 'end') {
      this.#wasEnded = true;
      this.listener.ended();
      if (this.#hasEnded) this.#close(null);
    } else {
      this.listener.received(event.bytes);
    }
    this.#deliverLater();
  }

  #close(fault: string | null): void {
    if (this.isClosed) return;
    this.isClosed = true;
    // As sockets do: never from within a call.
    later(0, () => this.listener.closed(fault));
  }
}

/**
 * Sockets of a machine that exists in memory alone. `answer`: takes what is dialled; `null`: nobody is there. `full`: how often a write fills
 * the buffer of the system.
 */
export function createWires(answer: (port: number) => ((end: WireEnd) => void) | null, full: number) {
  let accept: ((socket: TcpSocket) => TcpListener) | null = null;
  const tcp: Tcp = {
    dial(address, port, listener) {
      const [ours, theirs] = createWire(address, full);
      ours.listener = listener;
      const taken = answer(port);
      later(between(0, 3), () => {
        if (ours.isClosed) return;
        if (!taken) {
          ours.destroy();
          return;
        }
        taken(theirs);
        ours.listener.opened();
      });
      return ours;
    },
    async listen(_place, accepted) {
      accept = accepted;
      return { port: 1, close() {} };
    },
  };
  return {
    tcp,
    /** Connects as a client. */
    connect(listener: TcpListener): WireEnd {
      const [ours, theirs] = createWire('127.0.0.1', full);
      ours.listener = listener;
      theirs.listener = accept?.(theirs) ?? NOBODY;
      return ours;
    },
  };
}
