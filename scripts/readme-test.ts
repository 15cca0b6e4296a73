/** Runs the commands of the README and of docs/ and says how each went. */
import { runReadme } from '../test/support/readme-tour.ts';

const count = { passed: 0, failed: 0, 'not run': 0 };
await runReadme(({ state, reason, text, file, line, seconds }) => {
  count[state]++;
  console.log(`${state.padEnd(7)} ${seconds.toFixed(1).padStart(4)} s  ${file}:${line}  ${text}`);
  if (reason) console.log(reason.replace(/^/gm, ' '.repeat(16)));
});
console.log(`\n${count.passed} passed, ${count.failed} failed, ${count['not run']} not run`);
process.exit(count.failed > 0 ? 1 : 0);
