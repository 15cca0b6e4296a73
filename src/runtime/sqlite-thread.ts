import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { SqliteDatabase, SqliteStatement, SqliteThread, SqliteValue } from './runtime.ts';

interface Question {
  sql: string;
  values: SqliteValue[];
}

/** An error as it is sent to another thread, with the number that identifies it in each driver. */
type Fault = Record<'name' | 'message' | 'errno' | 'errcode', unknown>;

type Answer = { rows: unknown[] } | { fault: Fault };

/** Starts a thread for the file. Its script must call `serveThread`. */
export function openThread(script: URL, path: string): SqliteThread {
  const worker = new Worker(script, { workerData: path });
  const waiting: PromiseWithResolvers<unknown[]>[] = [];
  let ended: Error | null = null;

  function end(cause?: unknown): void {
    ended ??= new Error('The thread of a database has ended.', { cause });
    for (const { reject } of waiting.splice(0)) reject(ended);
  }

  worker.on('message', (answer: Answer) => {
    const first = waiting.shift();
    if ('rows' in answer) first?.resolve(answer.rows);
    else first?.reject(Object.assign(new Error(), answer.fault));
  });
  worker.on('error', end);
  worker.on('exit', end);

  function ask(question: Question | null): Promise<unknown[]> {
    if (ended) return Promise.reject(ended);
    const answer = Promise.withResolvers<unknown[]>();
    waiting.push(answer);
    worker.postMessage(question);
    return answer.promise;
  }

  return {
    hasEnded: () => ended !== null,
    all: (sql, ...values) => ask({ sql, values }),
    async close() {
      await ask(null).catch(() => {});
      await worker.terminate();
    },
  };
}

/** The thread's side of `openThread`: answers one query after another, and closes the file for `null`. */
export function serveThread(open: (path: string) => SqliteDatabase): void {
  let database: SqliteDatabase | null = null;
  /** Callers use few statements with many values. */
  const statements = new Map<string, SqliteStatement>();

  function prepared(sql: string): SqliteStatement {
    database ??= open(workerData as string);
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  function answer(question: Question | null): Answer {
    try {
      if (question) return { rows: prepared(question.sql).all(...question.values) };
      for (const statement of statements.values()) statement.finalize?.();
      database?.close();
      return { rows: [] };
    } catch (error) {
      const { name, message, errno, errcode } = error as Fault;
      return { fault: { name, message, errno, errcode } };
    }
  }

  parentPort?.on('message', (question: Question | null) => parentPort?.postMessage(answer(question)));
}
