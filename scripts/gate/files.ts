import { Glob } from 'bun';

/**
 * Returns the files that match any of the patterns, sorted, without those of packages. Throws for a pattern that
 * matches nothing, because a check that reads nothing passes. (In Bun, a pattern with a slash between braces matches
 * nothing.)
 */
export function filesOf(...patterns: string[]): string[] {
  const found = new Set<string>();
  for (const pattern of patterns) {
    const files = [...new Glob(pattern).scanSync('.')].filter((file) => !file.includes('node_modules/'));
    if (files.length === 0) throw new Error(`no file matches ${pattern}`);
    for (const file of files) found.add(file);
  }
  return [...found].sort();
}
