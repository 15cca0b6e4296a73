import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Protocol } from '../src/proxy/proxy.ts';

const REQUEST_TAIL =
  ' HTTP/1.1\r\nHost: 127.0.0.1:12345\r\nUser-Agent: Mozilla/5.0 (compatible; picpool)\r\nAccept: */*\r\nAccept-Encoding: identity\r\nCache-Control: no-cache\r\nx-token: 00000000000000000000000000000000\r\nConnection: close\r\n\r\n';

/** A farm and a judge in a process of their own. */
export interface FarmProcess {
  port: number;
  judge: string;
  stop(): void;
}

export async function startFarmProcess(): Promise<FarmProcess> {
  const deno = 'Deno' in globalThis;
  const child = spawn(
    process.execPath,
    [...(deno ? ['run', '-A'] : []), 'test/support/proxy-farm-process.ts'],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const facts = await new Promise<{ port: number; judge: string }>((resolve, reject) => {
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

/** What any checker must do at least: connect, send, read to the end, close. */
export function bareCheck(
  farm: Pick<FarmProcess, 'port' | 'judge'>,
  protocol: Protocol,
  host: string,
): Promise<void> {
  const origin = protocol === 'http' ? farm.judge.replace('/judge', '') : '';
  const request = `GET ${origin}/judge?token=00000000000000000000000000000000${REQUEST_TAIL}`;
  const steps =
    protocol === 'http'
      ? [request]
      : [Buffer.from([5, 1, 0]), Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, 1, 1]), request];
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: farm.port });
    let step = 0;
    const send = () => socket.write(steps[step++] ?? '');
    socket.on('connect', send);
    socket.on('data', () => {
      if (step < steps.length) send();
      else {
        socket.destroy();
        resolve();
      }
    });
    socket.on('error', reject);
  });
}
