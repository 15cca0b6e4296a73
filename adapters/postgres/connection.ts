import type { Sql, TransactionSql } from 'postgres';
import { AppError } from '../../src/errors.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { LateError, within } from '../../src/lib/deadline.ts';
import { storable } from '../../src/lib/storable.ts';
import { createRetry, type Repeat } from '../server-errors.ts';
import type { Server } from '../servers.ts';
import {
  classify,
  failure,
  isCancelled,
  isDisconnected,
  isFromServer,
  isMoved,
  isReadOnly,
  isUnprepared,
  READ_ONLY,
} from './errors.ts';
import { createPool, type Pool } from './pool.ts';
import { type PostgresAddress, parsePostgresUrl } from './url.ts';

export type Value = string | number | boolean | null;

/** Runs a query; `$1` is the first value. */
export type Ask = <Row extends object>(text: string, values?: readonly Value[]) => Promise<Row[]>;

/**
 * One database, shared by all stores of the process. Failures reject with `AppError('unavailable')`, or
 * `storage_full`.
 */
export interface PostgresConnection {
  /**
   * Returns the full name of a table. No search path is set, because a pooler may use another session for each
   * transaction.
   */
  table(name: string): string;
  /** Runs one statement; `limitMs` for slow ones that nobody waits for. */
  ask<Row extends object>(
    repeat: Repeat,
    text: string,
    values?: readonly Value[],
    limitMs?: number,
  ): Promise<Row[]>;
  /** Like `ask`, for optional statements: returns `null` if the server has not finished within the time. */
  askWithin<Row extends object>(ms: number, text: string, values: readonly Value[]): Promise<Row[] | null>;
  /**
   * Runs several statements, all or none. They are repeated from the first one after a conflict with another
   * transaction.
   */
  transaction<T>(repeat: Repeat, work: (ask: Ask) => Promise<T>, limitMs?: number): Promise<T>;
  close(): Promise<void>;
}

const OPEN_TIMEOUT_MS = 4500;
const COMMAND_TIMEOUT_MS = 3000;
/** By then, a cancelled statement has ended, or the server hangs. */
const CANCEL_TIMEOUT_MS = 500;
const RETRY_FOR_MS = 1500;
/** Between attempts to find a server: each costs it some processes, while it may be read-only for long. */
const OPEN_PAUSE_MS = 250;
/** A longer pause within a transaction is that of a copy that is suspended, or has lost its machine or network. */
const MOST_IDLE_MS = 5000;

/**
 * Connects to the database that the URL names (see `parsePostgresUrl`), and reconnects when necessary.
 * @throws {AppError} `unavailable` if it does not answer within 5 s; without `retryAfterMs` if that is permanent.
 */
export async function openPostgres(
  url: string,
  { limitMs = COMMAND_TIMEOUT_MS }: { limitMs?: number } = {},
): Promise<PostgresConnection> {
  const connection = createConnection(parsePostgresUrl(url), limitMs);
  try {
    await within(OPEN_TIMEOUT_MS, connection.ask('safe', 'SELECT 1 AS one WHERE $1', [true]));
    return connection;
  } catch (error) {
    await connection.close();
    throw error instanceof AppError ? error : failure(error);
  }
}

/** Creates a connection to a read-only server that may be unavailable. It is made on first use. */
export function createReplicaConnection(url: string): PostgresConnection {
  const { servers, ...address } = parsePostgresUrl(url);
  return createConnection({ ...address, servers: [servers[0]] }, COMMAND_TIMEOUT_MS);
}

interface Statement {
  cancel(): unknown;
}

/** Runs statements, and notes each before it is sent. */
type Begin<T> = (sql: Sql, note: (statement: Statement) => void) => Promise<T>;

function createConnection(address: PostgresAddress, usualMs: number): PostgresConnection {
  let { prepare } = address;
  let opening: Promise<Pool> | null = null;
  let isReplacing = false;
  const pause = createPause(OPEN_PAUSE_MS);
  let closed = false;
  /** Results and errors from the server so far. */
  let answers = 0;
  const persist = createRetry(RETRY_FOR_MS, {
    classify,
    failure,
    onFailure(error) {
      if (!isUnprepared(error)) return;
      prepare = false;
      leave(opening);
    },
  });

  async function open(left?: Pool): Promise<Pool> {
    const { server, isDirect, takes } = await pause().then(() => probe(address, left?.server));
    if (server === left?.server && takes !== 'writes') return left;
    return createPool({ ...address, prepare: prepare ?? isDirect }, server);
  }

  function pool(): Promise<Pool> {
    opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  }

  /** Makes the next statement look for the server again. Running ones end as if it were gone. */
  function leave(left: Promise<Pool> | null): void {
    if (left === null || left !== opening || closed) return;
    opening = null;
    left.then((gone) => gone.drop()).catch(() => {});
  }

  /** Looks for a server that takes writes. One that still answers is read until then, unless it has become a replica. */
  async function replace(left: Promise<Pool>, own: Pool): Promise<void> {
    if (isReplacing || left !== opening) return;
    isReplacing = true;
    const next = await open(own).catch((error) => (isReadOnly(error) ? null : own));
    isReplacing = false;
    if (next === own) return;
    if (left !== opening || closed) return next?.drop();
    opening = next && Promise.resolve(next);
    if (own.calls === 0) own.drop();
  }

  /**
   * Abandons the connections if the server does not even end what was cancelled, or has said nothing on any of them
   * meanwhile: the driver loses a connection whose first statement was ended before it could be sent.
   */
  async function abandon(work: Promise<unknown>, used: Promise<Pool>, heard: number): Promise<void> {
    await within(
      CANCEL_TIMEOUT_MS,
      work.catch(() => {}),
    ).catch(() => leave(used));
    if (answers === heard) leave(used);
  }

  /**
   * Rejects with a `LateError` after the time, whatever happens then: a commit that was told to stop waiting is
   * uncertain.
   */
  async function limited<T>(limitMs: number, begin: Begin<T>) {
    const used = pool();
    const own = await used;
    own.calls++;
    const heard = answers;
    const { work, cancel } = inTurn(own, begin);
    try {
      return await within(limitMs, work);
    } catch (error) {
      if (error instanceof LateError) {
        if (cancel()) void abandon(work, used, heard);
      } else if (isMoved(error) && (address.servers.length > 1 || classify(error) === 'refused'))
        void (isFromServer(error) ? replace(used, own) : leave(used));
      throw error;
    } finally {
      if (--own.calls === 0 && opening !== used) own.drop();
    }
  }

  const asker = (sql: Sql | TransactionSql, note: (statement: Statement) => void) =>
    createAsker(sql, note, () => {
      answers++;
    });

  /**
   * If the connection is gone, the driver reports that itself. If it saw the work fail, it would send a ROLLBACK to
   * no socket, which ends the process.
   */
  const transact = <T>(limitMs: number, work: (ask: Ask) => Promise<T>): Promise<T> =>
    limited(limitMs, async (sql, note) => {
      const result = await sql.begin((own) => {
        // Otherwise what it has locked stays locked for all copies while the server keeps its connection, which may be for hours.
        own.unsafe(`SET LOCAL idle_in_transaction_session_timeout = ${MOST_IDLE_MS}`).catch(() => {});
        return work(asker(own, note)).catch((error: unknown) => {
          if (!isDisconnected(error)) throw error;
          return new Promise<never>(() => {});
        });
      });
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
      await opening?.then((open) => open.close()).catch(() => {});
    },
  };
}

/** Begins work when a connection is free: the driver would send it behind slow work on one, while others are free. */
function inTurn<T>(pool: Pool, begin: Begin<T>) {
  let hasBegun = false;
  let isCancelled = false;
  let last = null as Statement | null;
  const work = pool.inTurn(() => {
    if (isCancelled) throw new LateError();
    hasBegun = true;
    return begin(pool.sql, (statement) => {
      last = statement;
    });
  });
  return {
    work,
    /** Cancels its last statement, or lets it never begin. Returns whether it had begun. */
    cancel(): boolean {
      isCancelled = true;
      Promise.resolve(last?.cancel()).catch(() => {});
      return hasBegun;
    },
  };
}

/** Creates a function that resolves at most once in this time. */
function createPause(ms: number): () => Promise<void> {
  let last = Number.NEGATIVE_INFINITY;
  return async () => {
    const waitMs = last + ms - performance.now();
    if (waitMs > 0) await systemClock.sleep(waitMs);
    last = performance.now();
  };
}

/** Records each statement before it is sent, and when the server has answered one. */
function createAsker(
  sql: Sql | TransactionSql,
  note: (statement: Statement) => void,
  noteAnswer: () => void,
): Ask {
  return async <Row extends object>(text: string, values: readonly Value[] = []) => {
    const statement = sql.unsafe<Row[]>(
      text,
      values.map((value) => (typeof value === 'string' ? storable(value) : value)),
      { prepare: true },
    );
    note(statement);
    try {
      const rows = await statement;
      noteAnswer();
      // After a statement that failed between its rows, the driver's next result begins with as many holes.
      return rows.filter((row) => row !== undefined);
    } catch (error) {
      if (isFromServer(error)) noteAnswer();
      throw error;
    }
  };
}

const LIMIT_MS = 2000;

/** What is known about a server before it is used. */
interface Probed {
  server: Server;
  /** Whether a connection is one session of the server, without a pooler in between. */
  isDirect: boolean;
  /** A replica may lack what was acknowledged; a primary that was made read-only, as on a full disk, has it all. */
  takes: 'writes' | 'reads' | 'replica';
}

/**
 * Finds the server that accepts writes, or else a primary that is read-only for now. A single server is used as it is. Without
 * either, rejects with the error of the server `left`, or of the last one: the servers may be about to elect a primary.
 */
async function probe(address: PostgresAddress, left = address.servers.at(-1)): Promise<Probed> {
  const { servers } = address;
  const asked = servers.map(async (server) => {
    const pool = await createPool({ ...address, connections: 1, prepare: false }, server);
    try {
      return await within(LIMIT_MS, look(pool.sql, server));
    } finally {
      pool.drop();
    }
  });
  const first = (wanted: Probed['takes']) =>
    Promise.any(
      asked.map(async (probed) => {
        const found = await probed;
        if (servers.length === 1 || found.takes === wanted) return found;
        throw Object.assign(new Error(`${found.server.host} is read-only`), { code: READ_ONLY });
      }),
    );
  return first('writes')
    .catch(() => first('reads'))
    .catch((error: unknown) => {
      throw error instanceof AggregateError ? error.errors[servers.indexOf(left ?? servers[0])] : error;
    });
}

async function look(sql: Sql, server: Server): Promise<Probed> {
  const found = await sql.unsafe<{ pid: number; readOnly: string; standby: string | null }[]>(
    `SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') AS "readOnly",
      current_setting('in_hot_standby', true) AS standby`,
  );
  const [row] = found;
  const readable = row?.standby === 'off' ? 'reads' : 'replica';
  // A pooler gives its clients other process IDs.
  return {
    server,
    isDirect: found.state.pid === row?.pid,
    takes: row?.readOnly === 'off' ? 'writes' : readable,
  };
}

/** Returns an array as a literal of SQL. */
export function arrayOf(values: readonly Value[]): string {
  return `{${values.map(element).join(',')}}`;
}

function element(value: Value): string {
  if (value === null) return 'NULL';
  return typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value);
}
