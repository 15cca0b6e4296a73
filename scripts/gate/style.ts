import { filesOf } from './files.ts';
import type { Findings } from './step.ts';

/** What `docs/style.md` says that we never write, and its like. */
const NEVER = [
  // The lookbehind spares "there is no proxy named x".
  /(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|better\b|different\b|such\b|match\b|[a-z]+er\b|proof\b)[a-z]/i,
  /\bnot so many\b/i,
  /\b(?:only|for|of|to|by|:) who (?:knows|has|brings|holds|may|wants)\b/i,
  /\bwho knows the password\b/i,
  /\buntil nobody\b|\bthat nobody has opened\b|\bwhen nobody has opened\b/i,
  /\bmade small\b|\bturned upright\b|\bfreed of\b/i,
  /\bnone left out\b|\bnot from:/i,
  /\bWidest\b|\bHighest\b/,
  /\bseen by:/i,
  /\bwell if\b/i,
  /\bto be put right\b/i,
  /\b(?:can|could|to) be had\b/i,
  /\bbe listened on\b/i,
  /\bin force\b/i,
  /\bthe most that (?:is|are)\b/i,
  /\bcut short\b/i,
  /\bmay not be (?:written|read)\b/i,
  /\bdoes not let\b/i,
  /\bset-ups?\b|\bclean-ups?\b|\bre-check/i,
  /\banew\b/i,
  /, too[.;]/i,
  /\bwhoever\b/i,
  /, but is ["“]/,
  /\bcodes of two letters\b/i,
  /\btaken note of\b/i,
  /\bwhere there is (?:no|none)\b/i,
  /\bfor who (?:is|has|runs)\b/i,
  /\bas it must be\b/i,
  /\bMost (?:entries|lists|proxies|bytes) that\b/i,
  /\bcame again\b/i,
  /\bwhat (?:came|comes|became|becomes|has become) of\b/i,
  /\btold (?:from|apart)\b/i,
  /\b(?:is|be|are|get) rid of\b/i,
  /\band the like\b/i,
  /\bso (?:much|many) (?:as|are|is|copies|must|at)\b/i,
  /\bshall\b/i,
  /\bwhere there (?:is|are)\b/i,
  /\bnot given:|\bwhen not given\b/i,
  /\b(?:is|are) passed over\b/i,
  /\bgoes by (?:the|its|what)\b/i,
  /\banswers how (?:not )?to\b/i,
  /\bby turns\b/i,
  /\bat any rate\b/i,
  /\bstands? in (?:a|the) (?:queue|file|list)\b/i,
];

/** Documents, and programs with their comments and the names of their tests. */
const TEXTS = [
  ...['*.md', 'bench/*.md', 'docs/**/*.md', 'clients/**/*.md'],
  ...['src/**/*.{ts,js}', 'adapters/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts', 'clients/**/*.{ts,js,py}'],
  'test/**/*.ts',
];

/** Finds the phrases that the style guide rejects, in all that people read. */
export async function checkStyle(): Promise<Findings> {
  // The guide and the test of the gate quote what is rejected, and its phrases are English.
  const files = filesOf(...TEXTS).filter(
    (file) => !['docs/style.md', 'test/faults/gate.test.ts'].includes(file) && !file.includes('/zh-cn'),
  );
  const faults: string[] = [];
  for (const file of files) {
    for (const { line, text, pattern } of rejected(await Bun.file(file).text())) {
      faults.push(`${file}:${line}: ${text} (${pattern.source})`);
    }
  }
  return { read: files.length, faults };
}

/** Returns the first line for each rejected phrase. */
export function rejected(text: string): { line: number; text: string; pattern: RegExp }[] {
  const lines = text.split('\n');
  return NEVER.flatMap((pattern) => {
    const place = lines.findIndex((line) => pattern.test(line));
    return place < 0 ? [] : [{ line: place + 1, text: lines[place]?.trim() ?? '', pattern }];
  });
}
