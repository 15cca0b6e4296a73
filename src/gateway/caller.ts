import type { Inbox } from '../proxy/check/inbox.ts';
import type { TcpSocket } from '../runtime/tcp.ts';
import { type GatewayFault, refusalAnswer, socksRefusal, socksReply } from './fault.ts';

/** Answers a request for a connection in the client's protocol. */
export interface Voice {
  yes(headers: readonly string[]): Buffer;
  no(fault: GatewayFault): Buffer;
}

const CONNECT_OK = Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n');

export const HTTP_VOICE: Voice = {
  yes: (headers) =>
    headers.length === 0
      ? CONNECT_OK
      : Buffer.from(`HTTP/1.1 200 Connection established\r\n${headers.join('\r\n')}\r\n\r\n`),
  no: refusalAnswer,
};
export const SOCKS_VOICE: Voice = { yes: () => socksReply(0), no: socksRefusal };

/** A client's connection, as seen by the code that serves it. */
export interface Caller {
  readonly socket: TcpSocket;
  /** Data that has arrived and was not taken yet. */
  readonly inbox: Inbox;
  /** Called with each chunk that arrives while a request is being served. */
  onBytes: (() => void) | null;
  /** Called once if the client disconnects while a request is being served. */
  onLeft: (() => void) | null;
  onDrained: (() => void) | null;
  /** Called once if the client ends its half while a request is being served, after all that it has sent. */
  onEnded: (() => void) | null;
  /** True once it sends no more. */
  readonly hasEnded: boolean;
  /** Called when the connection is over; its current owner reports that. */
  gone(): void;
  /** Takes this many of the received bytes. */
  take(count: number): Buffer;
  /** Answers with an error, and ends the connection. */
  refuse(voice: Voice, fault: GatewayFault): void;
  /** Ends the connection once everything is sent. */
  close(): void;
  /** Makes the connection ready for another request. */
  again(): void;
}
