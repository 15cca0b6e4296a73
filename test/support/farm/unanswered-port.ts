import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { until } from '../stores/services.ts';

/** A system lets a few hundred connections wait for a program that accepts none. */
const AT_ONCE = 64;
/** More than any system lets wait. */
const MOST_WAITING = 10_000;

/**
 * A port of 127.0.0.1 on which attempts to connect are not answered, as behind a firewall: the program that listens stands
 * still, and as many connections wait for it as may.
 */
export async function startUnansweredPort() {
  const child = spawn(process.execPath, [
    '-e',
    `const server = require('node:net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`,
  ]);
  const exited = once(child, 'exit');
  const [line] = await once(createInterface(child.stdout), 'line');
  const port = Number(line);
  child.kill('SIGSTOP');

  /** Counts attempts to connect that stand, or only those that the system has already tried again without an answer. */
  async function attempts(ignored = false): Promise<number> {
    const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const sockets = (await readFile('/proc/net/tcp', 'utf8'))
      .split('\n')
      .map((row) => row.trim().split(/\s+/));
    // Columns: number, local address, remote address, state, queues, timer, retries; state 02 is SYN_SENT
    // (include/net/tcp_states.h of Linux).
    return sockets.filter(
      ([, , address, state, , , retries]) =>
        address?.endsWith(remote) && state === '02' && !(ignored && Number(retries) === 0),
    ).length;
  }

  const waiting: Socket[] = [];
  const unanswered = () => waiting.filter(({ connecting }) => connecting);
  while (unanswered().length === 0 && waiting.length < MOST_WAITING) {
    waiting.push(...Array.from({ length: AT_ONCE }, () => connect({ port, host: '127.0.0.1' })));
    // A busy machine may be late with an answer, but not until the system has tried again.
    await until(async () => unanswered().length === (await attempts(true)));
  }
  for (const socket of unanswered()) socket.destroy();
  return {
    port,
    /** Attempts of this machine to connect to it that still stand. */
    attempts: () => attempts(),
    async stop() {
      for (const socket of waiting) socket.destroy();
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export type UnansweredPort = Awaited<ReturnType<typeof startUnansweredPort>>;
