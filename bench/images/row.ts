/** One row of the table: what was measured, with its goal. */
export interface Row {
  what: string;
  goal: string;
  reached: string;
  met: boolean;
}

/** A row about a ratio that must not be below its goal. */
export function atLeast(what: string, goal: number, ratio: number, detail: string): Row {
  return { what, goal: `at least ${goal}`, reached: `${ratio.toFixed(2)} (${detail})`, met: ratio >= goal };
}

/** A row about a number that must not be above its goal. */
export function atMost(what: string, goal: number, value: number, unit: string, detail = ''): Row {
  const reached = `${value.toFixed(1)} ${unit}${detail && ` (${detail})`}`;
  return { what, goal: `at most ${goal} ${unit}`, reached, met: value <= goal };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
