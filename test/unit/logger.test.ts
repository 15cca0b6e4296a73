import { expect, test } from 'bun:test';
import {
  createHiding,
  createLogger,
  type Facts,
  FrequentFacts,
  type LoggerOptions,
} from '../../src/lib/logger.ts';

/** Facts whose JSON says that they wrote it. */
class Frequent extends FrequentFacts {
  readonly #facts: Facts;

  constructor(facts: Facts) {
    super();
    this.#facts = facts;
  }

  plain(): Facts {
    return this.#facts;
  }

  members(): string {
    return `"written":true,${JSON.stringify(this.#facts).slice(1, -1)}`;
  }
}

function linesOf(addresses: LoggerOptions['addresses'], peers: string[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    level: 'info',
    format: 'json',
    write: (line) => void lines.push(JSON.parse(line)),
    now: () => 0,
    ...(addresses && { addresses }),
  });
  for (const peer of peers) log('info', 'request', new Frequent({ peer, status: 200 }));
  return lines;
}

const PEERS = ['192.0.2.1', '192.0.2.1', '192.0.2.2'];

test('addresses of clients are logged in full by default', () => {
  expect(linesOf(undefined, PEERS).map(({ peer }) => peer)).toEqual(PEERS);
});

test('hashed addresses distinguish clients in all logs of one process, without revealing them', async () => {
  const [first, second, third] = linesOf('hashed', PEERS);
  expect(first?.peer).toMatch(/^[0-9a-f]{12}$/);
  expect(second?.peer).toBe(first?.peer);
  expect(third?.peer).not.toBe(first?.peer);
  expect(createHiding('hashed')('192.0.2.1')).toBe(String(first?.peer));
  const later: typeof import('../../src/lib/logger.ts') = await import(`../../src/lib/logger.ts?${'later'}`);
  expect(later.createHiding('hashed')('192.0.2.1')).not.toBe(String(first?.peer));
});

test('addresses can be left out, without anything else', () => {
  expect(linesOf('off', PEERS)[0]).toEqual({
    time: '1970-01-01T00:00:00.000Z',
    level: 'info',
    message: 'request',
    status: 200,
  });
});

test('a line has its facts after time, level and message, and for an error also its causes', () => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLogger({ level: 'info', format: 'json', write, now: () => 0 });
  log('info', 'stopping');
  log('debug', 'not told', { any: 1 });
  log('warn', 'say "why"', {
    cause: new Error('outside', { cause: new Error('inside') }),
    left: undefined,
    n: 1,
  });
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    time: '1970-01-01T00:00:00.000Z',
    level: 'info',
    message: 'stopping',
  });
  const { cause, ...others } = JSON.parse(lines[1] ?? '');
  expect(cause).toMatch(/outside[\s\S]*caused by Error: inside/);
  expect(others).toEqual({ time: '1970-01-01T00:00:00.000Z', level: 'warn', message: 'say "why"', n: 1 });
});

test('frequent facts write themselves only where nothing is hidden from the line', () => {
  const written = (options: Partial<LoggerOptions>) => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const log = createLogger({ level: 'info', format: 'json', write, now: () => 0, ...options });
    log('info', 'request', new Frequent({ status: 200, peer: '192.0.2.1' }));
    log('debug', 'request', new Frequent({ status: 200 }));
    return lines;
  };
  const start = '{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"request"';
  expect(written({})).toEqual([`${start},"written":true,"status":200,"peer":"192.0.2.1"}`]);
  expect(written({ addresses: 'off' })).toEqual([`${start},"status":200}`]);
  expect(written({ format: 'pretty' })).toEqual(['00:00:00 info  request status=200 peer=192.0.2.1']);
});
