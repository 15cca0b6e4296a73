/**
 * Sends malformed HTTP to a server of its own: request lines, headers, lengths, chunks, forms. Prints what was answered, and
 * every 5xx, stack and logged error; exit code 1 where there was one, or where the memory grew.
 *
 *   bun scripts/fuzz-http.ts [cases, default 100000] [bun or deno] [seed, default 1]
 */
import { fuzzHttp } from '../test/support/clients/http-fuzz.ts';
import type { RuntimeName } from '../test/support/servers/server-process.ts';

const MIB = 2 ** 20;
const MOST_GROWTH = 200 * MIB;

const [cases = '100000', runtime = 'bun', seed = '1'] = process.argv.slice(2);
const report = await fuzzHttp(runtime as RuntimeName, Number(cases), Number(seed));
const { early, late } = report.memory;
for (const fault of report.faults.slice(0, 20)) console.log(fault);
for (const line of report.logged.slice(0, 20)) console.log(line);
console.log(`${report.cases} cases on ${runtime}, answers ${JSON.stringify(report.answers)}`);
console.log(
  `faults ${report.faults.length}, errors logged ${report.logged.length}, exit code ${report.exitCode}`,
);
console.log(`memory ${Math.round(early / MIB)} MiB after a tenth, ${Math.round(late / MIB)} MiB at the end`);
const good = report.faults.length + report.logged.length + report.exitCode === 0;
process.exit(good && late - early < MOST_GROWTH ? 0 : 1);
