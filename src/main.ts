import { enter } from './cli/entry.ts';
import { bunRuntime } from './runtime/bun.ts';

await enter(bunRuntime, process.argv.slice(2), process.env);
