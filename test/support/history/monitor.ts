import { once } from 'node:events';
import { connect } from 'node:net';
import type { LeaseEvent } from './calls.ts';

const LOCK = /:lock:([^}]+)\}:(owner|token)$/;
const READS = /^(H?M?GET|HGETALL|HEXISTS|HLEN|EXISTS|ZCARD|ZSCORE|ZRANGE|TIME)$/i;

/** What a store of records is told about leases, from now on. */
export interface Monitor {
  /** Ends it. */
  stop(): Promise<LeaseEvent[]>;
}

/** Of a Redis server that is not restarted. */
export async function startMonitor(port: number): Promise<Monitor> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece;
  });
  socket.on('error', () => {});
  socket.write('MONITOR\r\n');
  return {
    async stop() {
      socket.destroy();
      return leaseEvents(text.split('\r\n'));
    },
  };
}

/** Reads the lines of MONITOR. A script is followed by what it does. */
export function leaseEvents(lines: readonly string[]): LeaseEvent[] {
  const events: LeaseEvent[] = [];
  let script: string[] = [];
  let done: string[][] = [];
  const end = () => {
    events.push(...ofScript(script, done));
    [script, done] = [[], []];
  };
  for (const line of lines) {
    const [, from] = /^\+\S+ \[\d+ (\S+)\]/.exec(line) ?? [];
    if (from === undefined) continue;
    if (from === 'lua') {
      done.push(wordsOf(line));
      continue;
    }
    end();
    if (/\] "eval(sha)?"/i.test(line)) script = wordsOf(line);
  }
  end();
  return events;
}

const wordsOf = (line: string) => [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word);

function ofScript([, , count, ...rest]: readonly string[], done: readonly string[][]): LeaseEvent[] {
  const events: LeaseEvent[] = [];
  let owner = '';
  for (const [command = '', key = '', first = '', second, third, fourth] of done) {
    const [, lock, part] = LOCK.exec(key) ?? [];
    if (command.toUpperCase() === 'SET' && lock !== undefined) {
      if (part === 'owner') owner = first;
      else events.push({ kind: 'grant', lock, owner, token: Number(first) });
    }
    if (key.endsWith(':values') && third === `${first}#token` && second !== undefined) {
      events.push({ kind: 'write', fence: first, token: Number(fourth), changed: true });
    }
  }
  const keys = rest.slice(0, Number(count));
  const [name = '', token = ''] = rest.slice(Number(count));
  const fences = keys.find((key) => key.endsWith('}:fences'));
  if (fences !== undefined && /^\d{16}$/.test(token)) {
    const changed = done.some(([command = '', key]) => !READS.test(command) && key !== fences);
    const [, store] = /([^:{]+)\}:fences$/.exec(fences) ?? [];
    events.push({ kind: 'write', fence: `${store} ${name}`, token: Number(token), changed });
  }
  return events;
}
