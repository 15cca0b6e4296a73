import { connect } from 'node:net';
import { createSecureContext, connect as startTls } from 'node:tls';
import type { BareGateway } from './bare.ts';

interface Question {
  /** With its token as the password, if there is one. */
  user?: string;
  host?: string;
}

/** A client that asks for a page over TLS, one after another. `ca`: of the target's certificate; `port`: of the target. */
export function startGatewayClient({ ca, port }: { ca: string; port: number }) {
  const secureContext = createSecureContext({ ca });
  const waiting = new Set<() => void>();
  return {
    /** Ends all questions that wait for an answer. */
    giveUp() {
      for (const end of waiting) end();
    },
    /** Returns the page, `null` if it did not come. */
    ask: (gateway: Pick<BareGateway, 'port'>, { user = '', host = 'example.com' }: Question = {}) =>
      new Promise<string | null>((resolve) => {
        const socket = connect(gateway.port, '127.0.0.1');
        const end = (page: string | null) => {
          waiting.delete(giveUp);
          socket.destroy();
          resolve(page);
        };
        const giveUp = () => end(null);
        waiting.add(giveUp);
        socket.on('error', giveUp);
        socket.on('close', giveUp);
        const login = user === '' ? '' : `Proxy-Authorization: Basic ${btoa(user)}\r\n`;
        socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\n${login}\r\n`);
        socket.once('data', () => {
          const secure = startTls({ socket, secureContext, servername: 'example.com' }, () =>
            secure.write('GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n'),
          );
          secure.on('error', giveUp);
          let answer = '';
          secure.on('data', (bytes: Buffer) => {
            answer += bytes;
            const [head, body] = answer.split('\r\n\r\n');
            if (head !== undefined && body !== undefined && body !== '') end(body);
          });
        });
      }),
  };
}
