import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { systemClock } from '../../src/lib/clock.ts';

/** More than any system lets wait for a program to accept them. */
const MOST_WAITING = 10_000;

/** Until a connection on this machine surely stands, if it is answered at all. */
const ANSWERED_MS = 300;

export interface UnansweredPort {
  port: number;
  /** Attempts of this machine to connect to it that still stand. */
  attempts(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * A port of 127.0.0.1 on which attempts to connect are not answered, as behind a firewall: the program that listens stands
 * still, and as many connections wait for it as may.
 */
export async function startUnansweredPort(): Promise<UnansweredPort> {
  const child = spawn(process.execPath, [
    '-e',
    `const server = require('node:net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`,
  ]);
  const exited = once(child, 'exit');
  const [line] = await once(createInterface(child.stdout), 'line');
  const port = Number(line);
  child.kill('SIGSTOP');
  async function attempts(): Promise<number> {
    const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const sockets = (await readFile('/proc/net/tcp', 'utf8'))
      .split('\n')
      .map((row) => row.trim().split(/\s+/));
    // Columns: number, local address, remote address, state; 02 is SYN_SENT (include/net/tcp_states.h of Linux).
    return sockets.filter(([, , address, state]) => address?.endsWith(remote) && state === '02').length;
  }

  const waiting: Socket[] = [];
  let answered = true;
  while (answered && waiting.length < MOST_WAITING) {
    const socket = connect({ port, host: '127.0.0.1' });
    waiting.push(socket);
    answered = await Promise.race([
      once(socket, 'connect').then(() => true),
      // On a busy machine the news of a connection that stands may be late.
      systemClock.sleep(ANSWERED_MS).then(async () => (await attempts()) === 0),
    ]);
  }
  waiting.pop()?.destroy();
  return {
    port,
    attempts,
    async stop() {
      for (const socket of waiting) socket.destroy();
      child.kill('SIGKILL');
      await exited;
    },
  };
}
