import type { Environment } from '../config.ts';
import type { Runtime } from '../runtime/runtime.ts';

/**
 * Runs a command, or a conversion process of the server. The latter must load as little as possible, because its
 * sandbox forbids more.
 */
export async function enter(runtime: Runtime, args: readonly string[], env: Environment): Promise<void> {
  const [first = '', ...others] = args;
  if (first !== 'convert-worker' && first !== 'convert-sandbox') {
    return (await import('./run.ts')).run(runtime, args, env);
  }
  const { runConversionProcess } = await import('../codec/workers/process.ts');
  const [system, command] = [await runtime.system(), runtime.selfCommand()];
  return runConversionProcess(first, others, { system, command, env });
}
