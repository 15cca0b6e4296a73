import { createHmac, randomBytes } from 'node:crypto';
import { remember } from './bounded-map.ts';

const MAX_TEXTS = 2000;
const MAX_LENGTH = 200;

/** Returns a text as JSON. For texts that return often, such as the paths of requests. */
export const quoted = remember(MAX_TEXTS, (text) => JSON.stringify(text), MAX_LENGTH);

type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type Facts = Record<string, unknown>;

/** The facts of a very frequent event, which write themselves as JSON in two thirds of the time of `JSON.stringify`. */
export abstract class FrequentFacts {
  /** Returns the facts, texts and numbers. */
  abstract plain(): Facts;
  /** Returns the members of `plain()` as JSON, without the braces around them. */
  abstract members(): string;
}

/** Logs one event with its facts; `message` is a constant phrase, so that lines can be searched and counted. */
export type Log = (level: LogLevel, message: string, facts?: Facts | FrequentFacts) => void;

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

export interface LoggerOptions {
  level: LogLevel;
  format: 'pretty' | 'json';
  write: (line: string, level: LogLevel) => void;
  now: () => number;
  /**
   * How to log addresses of clients (the fact `peer`): in full, as a keyed hash that distinguishes clients, or not at
   * all.
   */
  addresses?: 'full' | 'hashed' | 'off';
}

/** One for all logs of the process, so that a client can be found in both. */
const KEY = randomBytes(32);

/** Returns what `LOG_ADDRESSES` leaves of a client's address. */
export function createHiding(addresses: LoggerOptions['addresses']): (peer: string) => string | undefined {
  return (peer) => {
    if (addresses === 'full') return peer;
    if (addresses === 'off') return undefined;
    return createHmac('sha256', KEY).update(peer).digest('hex').slice(0, 12);
  };
}

/** Writes one line for each event: JSON for machines, or time, level, message and `key=value` for people. */
export function createLogger({ level, format, write, now, addresses = 'full' }: LoggerOptions): Log {
  const hide = createHiding(addresses);
  const render = format === 'json' ? jsonLine : prettyLine;
  const writesItself = format === 'json' && addresses === 'full';

  function hidden(facts: Facts): Facts {
    if (addresses === 'full' || typeof facts.peer !== 'string') return facts;
    const { peer, ...others } = facts;
    const shown = hide(peer);
    return shown === undefined ? others : { ...others, peer: shown };
  }

  /** The time of the last line, because many lines share a millisecond. */
  let lastMs = Number.NaN;
  let lastTime = '';

  function timeText(): string {
    const ms = now();
    if (ms !== lastMs) {
      lastMs = ms;
      lastTime = new Date(ms).toISOString();
    }
    return lastTime;
  }

  return (eventLevel, message, facts = {}) => {
    if (RANK[eventLevel] < RANK[level]) return;
    const isFrequent = facts instanceof FrequentFacts;
    const line =
      isFrequent && writesItself
        ? `${jsonStart(timeText(), eventLevel, message)},${facts.members()}}`
        : render(timeText(), eventLevel, message, hidden(isFrequent ? facts.plain() : mapped(facts)));
    write(line, eventLevel);
  };
}

function jsonLine(time: string, level: LogLevel, message: string, facts: Facts): string {
  const start = jsonStart(time, level, message);
  const rest = JSON.stringify(facts);
  return rest === '{}' ? `${start}}` : `${start},${rest.slice(1)}`;
}

function jsonStart(time: string, level: LogLevel, message: string): string {
  return `{"time":"${time}","level":"${level}","message":${quoted(message)}`;
}

function prettyLine(time: string, level: LogLevel, message: string, facts: Facts): string {
  const tail = Object.entries(facts).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${time.slice(11, 19)} ${level.padEnd(5)} ${message}${tail.join('')}`;
}

function mapped(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, toPlain(value)]));
}

/** Number of causes of an error that are logged, because the first ones often hide the useful one. */
const MAX_CAUSES = 4;

function toPlain(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const lines = [value.stack ?? `${value.name}: ${value.message}`];
  let { cause } = value;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    lines.push(`caused by ${cause.name}: ${cause.message}`);
    ({ cause } = cause);
  }
  return lines.join('\n');
}

/** Maximum time that a line waits: too short to notice for someone who watches the log. */
const EVERY_MS = 100;
/** Maximum number of buffered characters. */
const MAX_WAITING = 64 * 1024;

/** Writes lines in batches, because one write costs as much as creating the line. */
export function createLineWriter(write: (text: string) => void) {
  let waiting = '';
  let timer: ReturnType<typeof setTimeout> | null = null;

  function flush(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    const text = waiting;
    waiting = '';
    if (text !== '') write(text);
  }

  return {
    write(line: string): void {
      waiting += `${line}\n`;
      if (waiting.length > MAX_WAITING) flush();
      else timer ??= setTimeout(flush, EVERY_MS);
    },
    /** Writes the buffered lines now. */
    flush,
  };
}
