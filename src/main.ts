import { run } from './cli/run.ts';
import { bunRuntime } from './runtime/bun.ts';

await run(bunRuntime, process.argv.slice(2), process.env);
