import { describe, expect, test } from 'bun:test';
import { filesOf } from '../../scripts/gate/files.ts';
import * as en from '../../src/web/words/en.ts';
import { LANGUAGES, preferredLanguage } from '../../src/web/words/languages.ts';
import { partsOf } from '../support/documents/code.ts';

/** Names, which are the same in every language, and what is typed or pressed as it stands there. */
const NAMES = ['picpool', 'ms', 'Ctrl'];
/** Pages whose words are still to be moved into the catalogue. */
const TO_BE_MOVED = ['docs-page.ts'];

const read = (path: string) => Bun.file(path).text();
const inWeb = (pattern: string) => filesOf(`src/web/${pattern}`).map((file) => file.slice('src/web/'.length));

type Leaf = [path: string[], value: unknown];

/** Texts and functions of a catalogue, with where they stand; a plural is one text. */
function leaves(node: object, path: string[] = []): Leaf[] {
  return Object.entries(node).flatMap(([key, value]): Leaf[] => {
    const isGroup = typeof value === 'object' && value !== null && !('other' in value && key !== 'byCode');
    return isGroup ? leaves(value, [...path, key]) : [[[...path, key], value]];
  });
}
const { formats: _, ...texts } = en;

/** Attributes that people read or hear. */
const SPOKEN = /\s(?:aria-label|aria-description|title|placeholder|alt|data-label)="([^"]*)"/g;

/** The words that stand in a template itself: text between tags, and attributes that are read out. */
function wordsOf(template: string): string[] {
  const spoken = [...template.matchAll(SPOKEN)].map(([, text = '']) => text);
  // Attributes alone, which another template puts into its tag.
  const isAttributes = /^\s+[\w-]+(="[^"]*")?(\s+[\w-]+(="[^"]*")?)*\s*$/.test(template);
  const between = isAttributes ? '' : template.replace(/<[^>]*>/g, ' ').replace(/&\w+;/g, ' ');
  return [between, ...spoken].flatMap((text) => text.match(/\p{L}{2,}/gu) ?? []);
}

describe('the words of pages', () => {
  test.each(filesOf('src/web/*.ts', 'src/{image,proxy}/pages/*.ts'))(
    'stand in the catalogue and not in %s',
    async (file) => {
      const words = partsOf(await read(file))
        .templates.flatMap(wordsOf)
        .filter((word) => !NAMES.includes(word));
      if (TO_BE_MOVED.some((name) => file.endsWith(`/${name}`))) expect(words.length).toBeGreaterThan(0);
      else expect(words).toEqual([]);
    },
  );

  test.each(inWeb('client/*.js'))('stand in the catalogue and not in %s', async (file) => {
    const code = (await read(`src/web/${file}`)).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    const literals = [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`]*)`/g)].map(
      ([, quoted, template]) => quoted ?? template ?? '',
    );
    const sentences = literals.filter((text) =>
      /^[A-Z][a-z]+ [a-z]|\p{L}{2}[.…!?]$|[a-z] [a-z]+\.$/u.test(text),
    );
    expect(sentences).toEqual([]);
  });

  test('are all used', async () => {
    const files = filesOf('src/{web,image,proxy,start,moderation,admin}/**/*.{ts,js}');
    const code = await Promise.all(files.filter((file) => !file.startsWith('src/web/words/')).map(read));
    const text = code.join('\n');
    const isUsed = ([path]: Leaf) => {
      const key = path.at(-1);
      const isTaken = new RegExp(`\\.${key}\\b|[{,]\\s*${key}\\b\\s*[,}:]|say\\(\\s*'${key}'`).test(text);
      return isTaken || path.some((group) => new RegExp(`\\.${group}[[,)]`).test(text));
    };
    // Some have two places, for the server and for scripts.
    const placeless = ([path, value]: Leaf) => `${path.at(-1)} ${value}`;
    const used = new Set(leaves(texts).filter(isUsed).map(placeless));
    const unused = leaves(texts).filter((leaf) => !used.has(placeless(leaf)));
    expect(unused.map(([path]) => path.join('.'))).toEqual([]);
  });

  test.each(Object.entries(LANGUAGES).slice(1))('are translated in %s', (_tag, { words }) => {
    const { formats: _, ...translated } = words;
    const original = new Map(leaves(texts).map(([path, value]) => [path.join('.'), value]));
    const same = leaves(translated).filter(
      ([path, value]) =>
        typeof value === 'string' && /[a-z] [a-z]/.test(value) && original.get(path.join('.')) === value,
    );
    expect(same).toEqual([]);
  });
});

describe('numbers, times and names', () => {
  const NOON = Date.UTC(2026, 1, 1, 8, 5);
  const MINUTE = 60_000;

  test('follow English conventions', () => {
    const { formats } = en;
    expect(formats.number(1_234_567)).toBe('1,234,567');
    expect(formats.percent(0.9876)).toBe('98.8%');
    expect(formats.plural(1, { one: '# picture', other: '# pictures' })).toBe('1 picture');
    expect(formats.plural(1200, { one: '# picture', other: '# pictures' })).toBe('1,200 pictures');
    expect([MINUTE - 1, MINUTE, 47 * 60 * MINUTE, 48 * 60 * MINUTE].map(formats.age)).toEqual([
      'just now',
      '1 minute ago',
      '47 hours ago',
      '2 days ago',
    ]);
    expect([1, 1000, 90_000].map(formats.duration)).toEqual(['1 second', '1 second', '1 minute']);
    expect(formats.dateTime(NOON)).toBe('Feb 1, 2026, 08:05');
    expect(formats.anyOf(['JPEG', 'PNG', 'GIF'])).toBe('JPEG, PNG, or GIF');
    expect(['DE', 'ZZ', '?'].map(formats.country)).toEqual(['Germany', 'Unknown Region', '?']);
  });

  test('follow Chinese conventions', () => {
    const { formats } = LANGUAGES['zh-CN'].words;
    expect(formats.plural(1200, { other: '# 张图片' })).toBe('1,200 张图片');
    expect([0, 5 * MINUTE].map(formats.age)).toEqual(['刚刚', '5分钟前']);
    expect(formats.dateTime(NOON)).toBe('2026年2月1日 08:05');
    expect(formats.country('DE')).toBe('德国');
  });
});

test.each([
  [null, 'en'],
  ['', 'en'],
  ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
  ['zh-Hant-TW', 'zh-CN'],
  ['en-GB,zh;q=0.9', 'en'],
  ['de-DE, de;q=0.9, zh;q=0.5, en;q=0.4', 'zh-CN'],
  ['zh;q=0, en', 'en'],
  ['fr, *;q=0.1', 'en'],
  ['ZH-cn', 'zh-CN'],
  [`${'x,'.repeat(1000)}zh`, 'en'],
] as const)('of the languages %p the pages are in %p', (header, language) => {
  expect(preferredLanguage(header)).toBe(language);
});
