import { Database } from 'bun:sqlite';
import { runInThread } from './sqlite-thread.ts';

runInThread((path) => new Database(path));
