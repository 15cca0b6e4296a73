import { compare, type Part, type Pattern, type Placed } from './part.ts';

/**
 * A page of the documents that contain the pattern, and their number, which is counted unless it is known. Reads the
 * parts from the newest on; when the page is complete, the others are only counted.
 */
export function findPage(
  parts: readonly Part[],
  pattern: Pattern,
  { offset, limit, known }: { offset: number; limit: number; known: number | undefined },
): { ids: string[]; total: number } {
  const ordered = parts
    .flatMap((part) => {
      const ends = part.ends();
      return ends ? [{ part, ...ends }] : [];
    })
    .sort((a, b) => compare(a.newest, b.newest));
  let found: Placed[] = [];
  let total = 0;
  /** Matches before the page that were counted and not collected. */
  let passed = 0;
  for (const [index, { part, newest, oldest }] of ordered.entries()) {
    const last = found[offset - passed + limit - 1];
    if (last && compare(last, newest) < 0) {
      if (known !== undefined) break;
      total += part.count(pattern);
      continue;
    }
    const next = ordered[index + 1];
    const isApart = !next || compare(oldest, next.newest) < 0;
    if (isApart && found.length === 0 && passed < offset) {
      const count = part.count(pattern);
      if (count <= offset - passed) {
        total += count;
        passed += count;
        continue;
      }
    }
    const matches = part.find(pattern, offset - passed + limit);
    total += matches.total;
    found = merge(found, matches.first);
  }
  const ids = found.slice(offset - passed, offset - passed + limit).map(({ id }) => id);
  return { ids, total: known ?? total };
}

function merge(before: Placed[], after: Placed[]): Placed[] {
  const [last, first] = [before.at(-1), after[0]];
  const all = [...before, ...after];
  return last && first && compare(last, first) > 0 ? all.sort(compare) : all;
}
