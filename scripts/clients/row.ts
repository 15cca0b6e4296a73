/** Where a client runs, and what it has done there. */
export interface Row {
  name: string;
  run: () => Promise<string[]>;
  /** A program without which it is not run. */
  needs?: string | undefined;
}

/** Runs those whose names contain one of the words of the command line, or all; returns how many have failed. */
export async function runRows(rows: readonly Row[]): Promise<number> {
  const words = process.argv.slice(2).map((word) => word.toLowerCase());
  let failed = 0;
  for (const { name, needs, run } of rows) {
    if (words.length > 0 && !words.some((word) => name.toLowerCase().includes(word))) continue;
    if (needs !== undefined && Bun.which(needs) === null) {
      console.log(`not run  ${name}: ${needs} is missing`);
      continue;
    }
    const startedAt = performance.now();
    try {
      const done = await run();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(`passed   ${name}, ${seconds} s: ${done.join('; ')}`);
    } catch (error) {
      failed++;
      console.log(`FAILED   ${name}:`, error);
    }
  }
  return failed;
}
