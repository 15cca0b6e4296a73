import { describe, expect, test } from 'bun:test';
import { Glob } from 'bun';
import { AppError } from '../../src/errors.ts';
import { reasonOf, reasonsOf } from '../../src/web/error-page.ts';
import { translate } from '../../src/web/translate.ts';
import { messages } from '../../src/web/words/zh-cn/messages.ts';
import { openTestWeb } from '../support/web.ts';

/** What only programs are told: calls that no page makes, commands, the operator's own. */
const FOR_PROGRAMS = [
  'src/image/{clients,maintenance}/**',
  'src/image/{access,admin,album,review}-routes.ts',
  'src/image/{change,reviews}.ts',
  'src/image/albums/{albums,wishes}.ts',
  'src/image/serve/{serve,limited,thumbnails,direct-link}.ts',
  'src/image/upload/{base64,fetch-ordered,from-url,joining,url-order}.ts',
  'src/image/page-routes.ts',
  'src/http/{read-json,metrics-routes,system-routes}.ts',
  'adapters/sqlite/{damage,migrate,repair}.ts',
  'adapters/{postgres,redis}/{migrate,schema}.ts',
].map((pattern) => new Glob(pattern));
const FOR_PEOPLE = ['src/image/**/*.ts', 'src/http/*.ts', 'src/web/*.ts', 'src/app.ts', 'adapters/*/*.ts'];

/** What makes an error: its second argument is the message. */
const THROWER = /\b(?:new AppError|invalidParameter|storageFull)\(/g;
const LITERAL = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

/** The messages of the errors that a file makes, with `7` for what is put in. Of what is put together elsewhere nothing is known. */
function messagesOf(code: string): string[] {
  const arguments_ = [...code.matchAll(THROWER)].map(({ index, 0: start }) =>
    secondArgument(code.slice(index + start.length)),
  );
  return arguments_
    .flatMap((argument) => {
      const [, name] = /^(\w+)$/.exec(argument) ?? [];
      const [, value] = name ? (new RegExp(`const ${name} =([^;]*);`).exec(code) ?? []) : [];
      return [...(value ?? argument).matchAll(LITERAL)].map(([text]) => text.slice(1, -1));
    })
    .map((text) => text.replace(/\$\{[^}]*\}+/g, '7').replace(/\\(.)/g, '$1'))
    .filter((text) => /[a-z]{3,} [a-z]/.test(text));
}

/** The text between the first comma and the next one, or the end, outside of all brackets and literals. */
function secondArgument(code: string): string {
  const plain = code.slice(0, 1000).replace(LITERAL, (literal) => '_'.repeat(literal.length));
  const ends: number[] = [];
  for (let at = 0, depth = 0; at < plain.length && depth >= 0 && ends.length < 2; at++) {
    const sign = plain[at] ?? '';
    if ('([{'.includes(sign)) depth++;
    if (')]}'.includes(sign)) depth--;
    if (depth < 0 || (depth === 0 && sign === ',')) ends.push(at);
  }
  const [first = 0, second = first] = ends;
  return code.slice(first + 1, second).trim();
}

/** What is put together of parts: what comes of it. */
const PUT_TOGETHER = new Map([
  ['expires_in must be 7.', 'expires_in must be at most 7d on this server.'],
  ['A form can have at most 7 in the field 7.', 'A form can have at most 7 files in the field image.'],
  [
    'The image has 7 x 7 pixels7, 7 in all; at most 7 are allowed.',
    'The image has 7 x 7 pixels, 7 in all; at most 7 are allowed.',
  ],
  ['The file 7; 7 are accepted.', 'The file is not in a known picture format; JPEG and PNG are accepted.'],
  ['7 must be at most 7 bytes.', 'The form must be at most 7 bytes.'],
  ['7 is arriving too slowly.', 'The form is arriving too slowly.'],
]);

async function allMessages(): Promise<[path: string, message: string][]> {
  const paths = FOR_PEOPLE.flatMap((pattern) => [...new Glob(pattern).scanSync('.')]);
  const read = paths
    .filter((path) => !FOR_PROGRAMS.some((pattern) => pattern.match(path)))
    .map(async (path) => messagesOf(await Bun.file(path).text()).map((message) => [path, message]));
  return (await Promise.all(read)).flat() as [string, string][];
}

describe('what an error says', () => {
  test('is translated to Chinese if a page can show it', async () => {
    const all = await allMessages();
    expect(all.length).toBeGreaterThan(60);
    const lacking = all.filter(([, message]) => {
      const said = PUT_TOGETHER.get(message) ?? message;
      const [, rule = said] = /^[a-z_7]+ (must .*)$/.exec(said) ?? [];
      return translate(messages, said) === null && translate(messages, rule) === null;
    });
    expect(lacking).toEqual([]);
  });

  test('keeps its numbers', () => {
    const said =
      'The image has 300 x 200 pixels in each of 5 frames, 300000 in all; at most 1000 are allowed.';
    expect(translate(messages, said)).toBe(
      '图片共 5 帧，每帧 300 × 200 像素，总计 300000 像素，最多允许 1000 像素。',
    );
    expect(translate(messages, 'The file is a PDF; JPEG, PNG and TIFF are accepted.')).toBe(
      '该文件是 PDF 文件；支持 JPEG, PNG 和 TIFF 格式。',
    );
    expect(translate(messages, 'must be an integer from 1 to 30000, not "wide"')).toBe(
      '必须是 1 到 30000 之间的整数，而当前值为 "wide"',
    );
  });

  test('inserts exactly the values of the message', () => {
    const namesIn = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
    const wrong = Object.entries(messages).filter(([original, translation]) =>
      namesIn(translation).some((name) => !namesIn(original).includes(name)),
    );
    expect(wrong.map(([original]) => original)).toEqual([]);
  });
});

describe('a page', () => {
  const site = async (language: string) =>
    (await openTestWeb()).siteOf(new Request('http://x/', { headers: { 'accept-language': language } }));
  const unknown = new AppError('busy', 'Nobody has translated this one.');

  test('shows the title of the code for an untranslated message', async () => {
    expect(reasonsOf(await site('en'), unknown)).toEqual(['Nobody has translated this one.']);
    expect(reasonsOf(await site('zh'), unknown)).toEqual([]);
    expect(reasonOf(await site('zh'), unknown)).toBe('服务器繁忙');
  });
});
