import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { connect as connectTls, createSecureContext, rootCertificates } from 'node:tls';

const REQUEST_TAIL =
  ' HTTP/1.1\r\nHost: 127.0.0.1:12345\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\nConnection: close\r\n\r\n';

/** A farm and a judge in a separate process. */
export interface FarmProcess {
  port: number;
  judge: string;
  /** Of the judge with a certificate of `ca`. */
  tlsJudge: string;
  ca: string;
  stop(): void;
}

export async function startFarmProcess(): Promise<FarmProcess> {
  const deno = 'Deno' in globalThis;
  const child = spawn(process.execPath, [...(deno ? ['run', '-A'] : []), 'test/support/farm/process.ts'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const facts = await new Promise<Omit<FarmProcess, 'stop'>>((resolve, reject) => {
    createInterface(child.stdout).once('line', (line) => resolve(JSON.parse(line)));
    child.once('exit', () => reject(new Error('the farm did not start')));
  });
  return { ...facts, stop: () => child.stdin.end() };
}

export async function inParallel(
  run: (n: number) => Promise<void>,
  count: number,
  atOnce: number,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** The minimum that any checker of `http` proxies has to do: connect, send, read to the end, close. */
export function bareCheck(farm: Pick<FarmProcess, 'port' | 'judge'>, host: string): Promise<void> {
  const origin = farm.judge.replace('/judge', '');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: farm.port });
    socket.on('connect', () =>
      socket.write(`GET ${origin}/judge?_=00000000000000000000000000000000${REQUEST_TAIL}`),
    );
    socket.on('data', () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}

/**
 * The minimum that any checker of tunnels has to do: connect, ask for the tunnel, speak TLS through it to the judge,
 * send, read, close.
 */
export function createBareTlsCheck(
  farm: Omit<FarmProcess, 'stop'>,
  protocol: 'https' | 'socks5',
): (host: string) => Promise<void> {
  const context = createSecureContext({ ca: [...rootCertificates, farm.ca] });
  const { port } = new URL(farm.tlsJudge);
  const steps =
    protocol === 'https'
      ? [`CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`]
      : [
          Buffer.from([5, 1, 0]),
          Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, Number(port) >> 8, Number(port) & 255]),
        ];
  return (host) =>
    new Promise((resolve, reject) => {
      const socket = connect({ host, port: farm.port });
      let step = 0;
      const send = () => socket.write(steps[step++] ?? '');
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('data', function answered() {
        if (step < steps.length) return void send();
        socket.off('data', answered);
        const secured = connectTls({ socket, secureContext: context, servername: 'localhost' });
        secured.on('secureConnect', () => secured.write(`GET /judge${REQUEST_TAIL}`));
        secured.on('error', reject);
        secured.on('data', () => {
          secured.destroy();
          socket.destroy();
          resolve();
        });
      });
    });
}
