import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listening, stopperOf } from './listening.ts';

/**
 * What a fault proxy does with a request: answer with a status, cut the body after some bytes or send no more of it,
 * stay silent, or pass it on.
 */
export type Fault =
  | { status: number; body: string; location?: string }
  | { cutAfterBytes: number; stalls?: boolean }
  | 'silence'
  | null;

/** The answer of an S3 server that fails in the given way. */
export function s3Error(status: number, code: string): Fault {
  return {
    status,
    body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
  };
}

/**
 * A proxy in front of an HTTP server that creates faults on demand. The `Host` header stays, because signatures cover
 * it.
 */
export async function startFaultProxy(target: string) {
  const { hostname, port } = new URL(target);
  let count = 0;

  const server = createServer((incoming, outgoing) => {
    count++;
    const fault = proxy.fault(incoming);
    if (fault === 'silence') return;
    if (fault && 'status' in fault) {
      incoming.resume();
      const { status, body, location } = fault;
      const headers = { 'Content-Type': 'application/xml', ...(location && { Location: location }) };
      incoming.once('end', () => outgoing.writeHead(status, headers).end(body));
      return;
    }
    forward(incoming, outgoing, fault?.cutAfterBytes ?? Number.POSITIVE_INFINITY, fault?.stalls);
  });

  function forward(incoming: IncomingMessage, outgoing: ServerResponse, limit: number, stalls = false): void {
    const { method, url, headers } = incoming;
    const onward = request({ hostname, port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      let sent = 0;
      answer.on('data', (chunk: Buffer) => {
        outgoing.write(chunk.subarray(0, Math.max(0, limit - sent)), () => {
          if (sent >= limit && !stalls) outgoing.socket?.destroy();
        });
        sent += chunk.length;
      });
      answer.once('end', () => {
        if (sent < limit) outgoing.end();
        else if (!stalls) outgoing.socket?.destroy();
      });
    });
    onward.once('error', () => outgoing.socket?.destroy());
    incoming.pipe(onward);
  }

  const proxy = {
    url: `http://127.0.0.1:${await listening(server)}`,
    /** Decides about each request; `null` passes it on. */
    fault: (_request: IncomingMessage): Fault => null,
    /** Requests seen. */
    get count() {
      return count;
    },
    stop: stopperOf(server),
  };
  return proxy;
}

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;
