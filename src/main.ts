import { enter } from './cli/entry.ts';
import { bunRuntime } from './runtime/bun.ts';

// Libraries read it while they are loaded. In development they prepare long explanations of each error.
process.env.NODE_ENV = 'production';
// Commands send tokens, which a proxy would read in plain http. It only tunnels https.
for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) delete process.env[name];
await enter(bunRuntime, process.argv.slice(2), process.env);
