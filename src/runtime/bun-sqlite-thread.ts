import { Database } from 'bun:sqlite';
import { serveThread } from './sqlite-thread.ts';

serveThread((path) => new Database(path));
