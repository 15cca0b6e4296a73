import { startJudge } from './judge-server.ts';
import { startFarm } from './proxy-farm.ts';

/** A farm and a judge as a process of their own, until their standard input ends. */
const [farm, judge] = [await startFarm(), await startJudge()];
process.stdout.write(`${JSON.stringify({ port: farm.port, judge: judge.url })}\n`);
process.stdin.on('end', async () => {
  await Promise.all([farm.stop(), judge.stop()]);
  process.exit(0);
});
process.stdin.resume();
