import { strict as assert } from 'node:assert';

/** Runs a program to its end and returns its output. Rejects with its output if it fails. */
export async function run(
  command: readonly string[],
  { env = process.env, cwd = process.cwd() }: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<string> {
  const child = Bun.spawn([...command], { stdio: ['ignore', 'pipe', 'pipe'], env, cwd });
  const [stdout, stderr] = await Promise.all(
    [child.stdout, child.stderr].map((one) => new Response(one).text()),
  );
  const said = `${command.join(' ')} ended with ${await child.exited}:\n${stdout}${stderr}`;
  assert.equal(child.exitCode, 0, said);
  return (stdout ?? '').trim();
}
