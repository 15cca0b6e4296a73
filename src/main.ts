import { enter } from './cli/entry.ts';
import { bunRuntime } from './runtime/bun.ts';

// Libraries read it while they are loaded. In development they prepare long explanations of each error.
process.env.NODE_ENV = 'production';
await enter(bunRuntime, process.argv.slice(2), process.env);
