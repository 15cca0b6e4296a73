import { strict as assert } from 'node:assert';

/** Where a client runs, and what it has done there. */
export interface Row {
  name: string;
  run: () => Promise<string[]>;
  /** A program without which it is not run. */
  needs?: string;
}

/** What a program prints. Rejects, with its errors, where it fails. */
export async function output(command: string[], env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(command, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  assert.equal(await child.exited, 0, stderr.slice(-3000));
  return stdout;
}
