/** Prints what CHANGELOG.md says of a version: `bun scripts/build/notes.ts [VERSION]`, by default that of `package.json`. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';

/**
 * Returns the part of a changelog about a version, without its heading.
 * @throws {Error} if there is none, or if it has no date.
 */
export function notesOf(changelog: string, version: string): string {
  const part = changelog.split(/^## /m).find((one) => one.startsWith(`[${version}]`));
  if (part === undefined) throw new Error(`CHANGELOG.md has no version ${version}.`);
  const [heading = '', ...lines] = part.split('\n');
  if (!/ - \d{4}-\d\d-\d\d$/.test(heading)) throw new Error(`CHANGELOG.md has no date for ${version}.`);
  return lines.join('\n').trim();
}

if (import.meta.main) {
  const changelog = await readFile(join(import.meta.dir, '..', '..', 'CHANGELOG.md'), 'utf8');
  console.log(notesOf(changelog, process.argv[2] ?? VERSION));
}
