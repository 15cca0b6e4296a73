import { expect, test } from 'bun:test';
import { runProgram } from '../../scripts/gate/program.ts';

test('what a program of the gate leaves running ends with it', async () => {
  // It holds the output open: as long as it runs, there is no end to read.
  const { exitCode } = await runProgram(['sh', '-c', 'sleep 600 & exit 3']);
  expect(exitCode).toBe(3);
});
