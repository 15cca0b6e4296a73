/**
 * The image host as a process of its own against its goals; prints a line for each and exits with 1 where one is missed.
 * Needs Linux, wrk and nginx. Names of parts choose among them: `bun bench/images.ts [serving] [conversions] [lists] ...`
 */
import { floods, shares } from './images/floods.ts';
import type { Row } from './images/row.ts';
import { serving } from './images/serving.ts';
import { conversions, lists, memory, refusals } from './images/uploads.ts';

const parts: Record<string, () => Promise<Row[]>> = {
  conversions: () => conversions(5),
  serving: () => serving(8),
  floods,
  shares,
  lists,
  memory,
  refusals,
};

const chosen = process.argv.slice(2);
const rows: Row[] = [];
for (const [name, run] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  for (const row of await run()) {
    rows.push(row);
    console.log(`${row.met ? 'met   ' : 'MISSED'} ${row.what}: ${row.reached}; goal: ${row.goal}`);
  }
}
process.exitCode = rows.every(({ met }) => met) ? 0 : 1;
