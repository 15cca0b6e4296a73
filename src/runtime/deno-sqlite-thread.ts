import { DatabaseSync } from 'node:sqlite';
import { serveThread } from './sqlite-thread.ts';

serveThread((path) => new DatabaseSync(path));
