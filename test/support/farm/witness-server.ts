import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { canonicalAddress } from '../../../src/lib/address.ts';
import { listening, stopperOf } from '../servers/listening.ts';

export interface WitnessServerOptions {
  /** Name or address in `url`; 127.0.0.1 by default. */
  host?: string;
  /** A free one by default. */
  port?: number;
  /** What the file holds; 4 random MiB by default. */
  bytes?: Buffer;
  /** The status for a client, where it should not be 206. */
  status?: (peer: string) => number;
}

/** A large file on a server that sends it in parts, for `PROXY_WITNESSES` and for checkers in tests. */
export async function startWitness(options: WitnessServerOptions = {}) {
  const { host = '127.0.0.1', port = 0, status } = options;
  let bytes = options.bytes ?? randomBytes(4 * 1024 * 1024);
  const sent = new Map<string, number>();
  const server = createServer((request, response) => {
    const peer = canonicalAddress(request.socket.remoteAddress ?? '') ?? '';
    const refusal = status?.(peer) ?? 206;
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (refusal !== 206 || from === undefined) {
      response.writeHead(refusal === 206 ? 200 : refusal, { 'Content-Length': bytes.length });
      return void response.end();
    }
    const part = bytes.subarray(Number(from), Number(to) + 1);
    sent.set(peer, (sent.get(peer) ?? 0) + part.length);
    response.writeHead(206, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': part.length,
      'Content-Range': `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}`,
    });
    response.end(part);
  });
  const stop = stopperOf(server);
  const bound = await listening(server, '127.0.0.1', port);
  return {
    url: `http://${host}:${bound}/file`,
    port: bound,
    /** Bytes that were sent to an address, or to all. */
    sent: (peer?: string) =>
      peer === undefined ? [...sent.values()].reduce((a, b) => a + b, 0) : (sent.get(peer) ?? 0),
    /** Gives the file another content. */
    change() {
      bytes = randomBytes(bytes.length);
    },
    stop,
  };
}
