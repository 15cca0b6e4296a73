import process from 'node:process';

const onDeno = 'Deno' in globalThis;

/** The runtime that runs this. A worker in the sandbox can load only what is in this folder, or of the project itself. */
export const runtime = onDeno
  ? (await import('../../../src/runtime/deno.ts')).denoRuntime
  : (await import('../../../src/runtime/bun.ts')).bunRuntime;

/** Starts a script with all permissions of Deno, because native code that a picture has taken over asks for none. */
export const commandOf = (script: string) => [process.execPath, ...(onDeno ? ['run', '-A'] : []), script];
