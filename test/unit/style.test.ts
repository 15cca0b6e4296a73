import { expect, test } from 'bun:test';
import { Glob } from 'bun';

/** What `docs/style.md` says that we never write, and its like. */
const NEVER = [
  // "There is no proxy named x" is fine; "the file is no JPEG" is not.
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

/** Documents, and programs with their comments. The English of tests is not checked. */
async function* texts(): AsyncGenerator<[file: string, text: string]> {
  const files = new Glob('{README,SECURITY,CONTRIBUTING,CHANGELOG,bench/README}.md').scanSync('.');
  const documents = new Glob('{docs,clients}/**/*.md').scanSync('.');
  const sources = new Glob('{src,adapters,scripts,bench,clients}/**/*.{ts,js,py}').scanSync('.');
  for (const file of [...files, ...documents, ...sources]) {
    if (file.includes('node_modules') || file === 'docs/style.md' || file.includes('/zh-cn')) continue;
    yield [file, await Bun.file(file).text()];
  }
}

function found(text: string): string[] {
  const lines = text.split('\n');
  return NEVER.flatMap((pattern) => {
    const faulty = lines.findIndex((line) => pattern.test(line));
    return faulty < 0 ? [] : [`${faulty + 1}: ${lines[faulty]?.trim()} (${pattern.source})`];
  });
}

test('no text has a phrase that the style guide rejects', async () => {
  const faults: string[] = [];
  for await (const [file, text] of texts()) faults.push(...found(text).map((fault) => `${file}:${fault}`));
  expect(faults).toEqual([]);
});

test('each rejected example of the style guide is found, and its replacement is not', async () => {
  const guide = await Bun.file('docs/style.md').text();
  const table = guide.slice(guide.indexOf('| never | instead |')).split('\n').slice(2).filter(Boolean);
  expect(table.length).toBeGreaterThan(15);
  for (const row of table) {
    const [, never = '', instead = ''] = row.split('|').map((cell) => cell.trim());
    expect([never, found(never).length > 0]).toEqual([never, true]);
    expect([instead, found(instead)]).toEqual([instead, []]);
  }
});
