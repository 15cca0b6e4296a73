import type { Inbox } from '../proxy/check/inbox.ts';
import type { TcpSocket } from '../runtime/tcp.ts';
import type { GatewayFault } from './fault.ts';

/** How an ask is answered in the client's protocol. */
export interface Voice {
  yes(headers: readonly string[]): Buffer;
  no(fault: GatewayFault): Buffer;
}

/** A client's connection, as seen by the code that serves it. */
export interface Caller {
  readonly socket: TcpSocket;
  /** What has come and was not taken yet. */
  readonly inbox: Inbox;
  /** Called with each piece that comes while someone works for the client. */
  onBytes: (() => void) | null;
  /** Called once when the client has left while someone works for it. */
  onLeft: (() => void) | null;
  onDrained: (() => void) | null;
  /** A client that only waits for an answer may end its half; one that wants a tunnel has left. */
  endIsLeaving: boolean;
  /** True once it sends no more. */
  readonly hasEnded: boolean;
  /** The connection is over; its current owner reports that. */
  gone(): void;
  /** Takes so many bytes of what has come. */
  take(count: number): Buffer;
  /** Says no, and ends the connection. */
  refuse(voice: Voice, fault: GatewayFault): void;
  /** Ends the connection once all is sent. */
  close(): void;
  /** The connection may be asked for something else. */
  again(): void;
}
