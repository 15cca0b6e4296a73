/** What a binary runs: the program, started in the interpreter (`jitPolicy` of the build), then compiled as usual. */

/** By then the server listens, or a command has started its work. */
const STARTED_MS = 500;

setTimeout(() => Bun.unsafe.setJITPolicy(1), STARTED_MS).unref();
await import('../../src/main.ts');
