import { openForeignWorld } from './foreign-world.ts';

/** A farm among foreign judges and witnesses as a process of its own, until its standard input ends. */
const world = await openForeignWorld();
const { judges, witnesses, ca } = world.options;
process.stdout.write(`${JSON.stringify({ port: world.farm.port, judges, witnesses, ca })}\n`);
process.stdin.on('end', async () => {
  await world.close();
  process.exit(0);
});
process.stdin.resume();
