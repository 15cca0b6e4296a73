import type { Sql, TransactionSql } from 'postgres';
import { AppError } from '../../src/errors.ts';
import { LateError, within } from '../../src/lib/deadline.ts';
import {
  classify,
  failure,
  isCancelled,
  isDisconnected,
  isFromServer,
  isMoved,
  isUnprepared,
} from './errors.ts';
import { createPool, type Pool } from './pool.ts';
import { probe } from './probe.ts';
import { createRetry, type Repeat } from './retry.ts';
import { type PostgresAddress, parsePostgresUrl } from './url.ts';

export type Value = string | number | boolean | null;

/** Runs a query; `$1` is the first value. */
export type Ask = <Row extends object>(text: string, values?: readonly Value[]) => Promise<Row[]>;

/** One database, shared by all stores of the process. Failures reject with `AppError('unavailable')`, or `storage_full`. */
export interface PostgresConnection {
  /** The full name of a table. No search path is set: a pooler may give each transaction another session. */
  table(name: string): string;
  /** One statement; `limitMs` for what takes long and nobody waits for. */
  ask<Row extends object>(
    repeat: Repeat,
    text: string,
    values?: readonly Value[],
    limitMs?: number,
  ): Promise<Row[]>;
  /** As `ask`, for what may be left out: answers `null` if the server has not done it within the time. */
  askWithin<Row extends object>(ms: number, text: string, values: readonly Value[]): Promise<Row[] | null>;
  /** Several statements, all or none. They are sent again from the first one where another transaction was in the way. */
  transaction<T>(repeat: Repeat, work: (ask: Ask) => Promise<T>, limitMs?: number): Promise<T>;
  close(): Promise<void>;
}

const OPEN_TIMEOUT_MS = 4500;
const COMMAND_TIMEOUT_MS = 3000;
/** A statement that is told to stop is over by then, or the server hangs. */
const CANCEL_TIMEOUT_MS = 500;
export interface OpenOptions {
  /** 0 <= random() < 1; for pauses. */
  random?: () => number;
  /** How long one statement, or a transaction, may take. */
  limitMs?: number;
}

/**
 * Connects to the database that the URL names (see `parsePostgresUrl`), and again whenever it is needed from then on.
 * @throws {AppError} `unavailable` if it does not answer within 5 s; without `retryAfterMs` where that will not pass.
 */
export async function openPostgres(
  url: string,
  { random = Math.random, limitMs = COMMAND_TIMEOUT_MS }: OpenOptions = {},
): Promise<PostgresConnection> {
  const connection = createConnection(parsePostgresUrl(url), random, limitMs);
  try {
    await within(OPEN_TIMEOUT_MS, connection.ask('safe', 'SELECT 1 AS one WHERE $1', [true]));
    return connection;
  } catch (error) {
    await connection.close();
    throw error instanceof AppError ? error : failure(error);
  }
}

/** A connection to a server that takes no writes and may be away; it is made when it is first needed. */
export function createReplicaConnection(url: string): PostgresConnection {
  const { servers, ...address } = parsePostgresUrl(url);
  return createConnection({ ...address, servers: [servers[0]] }, Math.random, COMMAND_TIMEOUT_MS);
}

interface Statement {
  cancel(): unknown;
}

function createConnection(
  address: PostgresAddress,
  random: () => number,
  usualMs: number,
): PostgresConnection {
  let { prepare } = address;
  let opening: Promise<Pool> | null = null;
  let closed = false;
  /** Results and errors of the server so far. */
  let answers = 0;
  const persist = createRetry({
    random,
    onFailure(error) {
      if (!isUnprepared(error)) return;
      prepare = false;
      leave(opening);
    },
  });

  async function open(): Promise<Pool> {
    const { server, isDirect } = await probe(address);
    return createPool({ ...address, prepare: prepare ?? isDirect }, server);
  }

  function pool(): Promise<Pool> {
    opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  }

  /** Lets the next statement look for the server again; those that are under way end as if it were gone. */
  function leave(left: Promise<Pool> | null): void {
    if (left === null || left !== opening || closed) return;
    opening = null;
    left.then((gone) => gone.drop()).catch(() => {});
  }

  /**
   * Ends what takes too long. The connections are given up if the server does not even do that, or has said nothing on any of them
   * meanwhile: the driver loses a connection whose first statement was ended before it could be sent.
   */
  async function abandon(
    statement: Statement | null,
    work: Promise<unknown>,
    used: Promise<Pool>,
    heard: number,
  ): Promise<void> {
    Promise.resolve(statement?.cancel()).catch(() => {});
    const over = work.then(
      () => {},
      () => {},
    );
    await within(CANCEL_TIMEOUT_MS, over).catch(() => leave(used));
    if (answers === heard) leave(used);
  }

  /** Rejects with a `LateError` after the time, whatever comes then: a commit that was told to stop waiting is not certain. */
  async function limited<T>(
    limitMs: number,
    begin: (sql: Sql, note: (statement: Statement) => void) => Promise<T>,
  ) {
    const used = pool();
    const { sql } = await used;
    const heard = answers;
    let last: Statement | null = null;
    const work = begin(sql, (statement) => {
      last = statement;
    });
    try {
      return await within(limitMs, work);
    } catch (error) {
      if (error instanceof LateError) void abandon(last, work, used, heard);
      else if (isMoved(error) && address.servers.length > 1) leave(used);
      else if (classify(error) === 'refused' && isMoved(error)) leave(used);
      throw error;
    }
  }

  const asker = (sql: Sql | TransactionSql, note: (statement: Statement) => void) =>
    createAsker(sql, note, () => {
      answers++;
    });

  /**
   * Where the connection is gone, the driver says so by itself; told of the failure of the work, it would send a ROLLBACK to no
   * socket, which ends the process.
   */
  const transact = <T>(limitMs: number, work: (ask: Ask) => Promise<T>): Promise<T> =>
    limited(limitMs, async (sql, note) => {
      const result = await sql.begin((own) =>
        work(asker(own, note)).catch((error: unknown) => {
          if (!isDisconnected(error)) throw error;
          return new Promise<never>(() => {});
        }),
      );
      return result as T;
    });

  return {
    table: (name) => `"${address.schema}".${name}`,

    ask: <Row extends object>(repeat: Repeat, text: string, values?: readonly Value[], limitMs = usualMs) =>
      persist(repeat, () => limited(limitMs, (sql, note) => asker(sql, note)<Row>(text, values))),

    transaction: (repeat, work, limitMs = usualMs) => persist(repeat, () => transact(limitMs, work)),

    async askWithin<Row extends object>(ms: number, text: string, values: readonly Value[]) {
      try {
        return await transact(usualMs, async (ask) => {
          await ask(`SET LOCAL statement_timeout = ${Math.ceil(ms)}`);
          return ask<Row>(text, values);
        });
      } catch (error) {
        if (isCancelled(error) || classify(error) === 'refused') return null;
        throw classify(error) === 'fault' ? error : failure(error);
      }
    },

    async close() {
      closed = true;
      await opening?.then(
        (open) => open.close(),
        () => {},
      );
    },
  };
}

/** Notes each statement before it is sent, and whenever the server has answered one. */
function createAsker(
  sql: Sql | TransactionSql,
  note: (statement: Statement) => void,
  noteAnswer: () => void,
): Ask {
  return async <Row extends object>(text: string, values: readonly Value[] = []) => {
    const statement = sql.unsafe<Row[]>(text, [...values], { prepare: true });
    note(statement);
    try {
      const rows = await statement;
      noteAnswer();
      return [...rows];
    } catch (error) {
      if (isFromServer(error)) noteAnswer();
      throw error;
    }
  };
}
