import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';

interface Task {
  path: string;
  statements: readonly string[];
}

/** Runs the statements by the script of a thread, which is to call `runInThread`. Rejects with what the database says. */
export async function runOnThread(script: URL, task: Task): Promise<void> {
  const worker = new Worker(script, { workerData: task });
  try {
    const ended = once(worker, 'exit').then(() => ['The thread ended before its work.']);
    const [fault] = (await Promise.race([once(worker, 'message'), ended])) as [string | null];
    if (fault !== null) throw new Error(fault);
  } finally {
    await worker.terminate();
  }
}

/** The other side of `runOnThread`. */
export function runInThread(open: (path: string) => { exec(sql: string): void; close(): void }): void {
  const { path, statements } = workerData as Task;
  let fault: string | null = null;
  try {
    const database = open(path);
    for (const statement of statements) database.exec(statement);
    database.close();
  } catch (error) {
    fault = String(error);
  }
  parentPort?.postMessage(fault);
}
