import { connect, type Socket } from 'node:net';
import { until } from '../stores/services.ts';
import type { BareGateway } from './bare.ts';

const host = (target: string) => `Host: ${target}\r\n`;
/** A ClientHello that is never completed. */
const PART_OF_HELLO = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03';

/** What rude clients send before they leave, to a target that never answers. */
export const RUDE: Record<string, (target: string) => string> = {
  nothing: () => '',
  'part of a head': (target) => `GET http://${target}/ HTTP/1.1\r\n${host(target)}`,
  'part of a body': (target) =>
    `POST http://${target}/ HTTP/1.1\r\n${host(target)}Content-Length: 100\r\n\r\nabc`,
  'part of a large body': (target) =>
    `POST http://${target}/ HTTP/1.1\r\n${host(target)}Content-Length: 1000000\r\n\r\n${'x'.repeat(300_000)}`,
  'part of a chunk': (target) =>
    `POST http://${target}/ HTTP/1.1\r\n${host(target)}Transfer-Encoding: chunked\r\n\r\n5\r\nab`,
  'a request for a tunnel': (target) => `CONNECT ${target} HTTP/1.1\r\n${host(target)}\r\n`,
  'part of a handshake': (target) => `CONNECT ${target} HTTP/1.1\r\n${host(target)}\r\n${PART_OF_HELLO}`,
  'part of a greeting over SOCKS': () => '\x05\x02',
  'a login over SOCKS': () => '\x05\x01\x02\x01\x01u\x01x',
};

/** Connects, sends, and leaves at once, by an end or a reset. Resolves when the connection is gone. */
export function beRude(port: number, bytes: string, how: 'end' | 'reset'): Promise<void> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.on('connect', () => {
      const leave = () => {
        if (how === 'end') socket.destroy();
        else setTimeout(() => socket.resetAndDestroy(), 20);
      };
      if (bytes === '') leave();
      else socket.write(Buffer.from(bytes, 'latin1'), leave);
    });
  });
}

/** Less than any limit after which the gateway ends connections by itself. */
const AT_ONCE_MS = 4_500;

/** Waits until the gateway has no client. Rejects if one stays for as long as a limit. */
export const untilEmpty = (gateway: BareGateway) => until(() => gateway.open() === 0, AT_ONCE_MS);
