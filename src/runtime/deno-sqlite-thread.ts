import { DatabaseSync } from 'node:sqlite';
import { runInThread } from './sqlite-thread.ts';

runInThread((path) => new DatabaseSync(path));
