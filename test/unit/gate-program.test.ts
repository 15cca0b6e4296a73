import { expect, test } from 'bun:test';
import { runProgram } from '../../scripts/gate/program.ts';
import { isRunning } from '../support/servers/processes.ts';
import { until } from '../support/stores/services.ts';

const PROGRAM = require.resolve('../../scripts/gate/program.ts');

test('what a program of the gate leaves running ends with it', async () => {
  // It holds the output open: as long as it runs, there is no end to read.
  const { exitCode } = await runProgram(['sh', '-c', 'sleep 600 & exit 3']);
  expect(exitCode).toBe(3);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'a program of the gate ends with it by %s',
  async (signal) => {
    const run = `(await import('${PROGRAM}')).runProgram(['sh', '-c', 'echo $$; exec sleep 600'], 1)`;
    const gate = Bun.spawn([process.execPath, '-e', run], { stdout: 'pipe' });
    const { value } = await gate.stdout.getReader().read();
    gate.kill(signal);
    await until(async () => !(await isRunning(Number(new TextDecoder().decode(value)))));
  },
);

test.skipIf(process.platform !== 'linux')(
  'the gate stays when its terminal is closed if nohup has started it',
  async () => {
    const count = `await import('${PROGRAM}'); process.exit(process.listenerCount('SIGHUP'))`;
    const gate = Bun.spawn(['nohup', process.execPath, '-e', count], {
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    expect(await gate.exited).toBe(0);
  },
);
