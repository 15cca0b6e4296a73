import { describe, expect, test } from 'bun:test';
import { AppError, inEnglish, invalidParameter, message } from '../../src/errors.ts';
import { reasonOf, reasonsOf } from '../../src/web/error-page.ts';
import { messages } from '../../src/web/words/zh-cn/messages.ts';
import { openTestWeb } from '../support/browser/web.ts';

const web = await openTestWeb();
const site = (language: string) =>
  web.siteOf(new Request('http://x/', { headers: { 'accept-language': language } }));

/** What a page in Chinese says. */
const inChinese = (error: AppError) => reasonsOf(site('zh'), error);

// That no message lacks a translation is for the compiler: see `Said`.
test('a translation has no value that its message lacks', () => {
  const namesIn = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
  const wrong = Object.entries(messages).filter(([original, translation]) =>
    namesIn(translation).some((name) => !namesIn(original).includes(name)),
  );
  expect(wrong.map(([original]) => original)).toEqual([]);
});

describe('what an error says', () => {
  test('is in English for programs, with its values', () => {
    const error = new AppError(
      'image_limit',
      message('The image has {frames} frames; at most {most} are allowed.', { frames: 9, most: 5 }),
    );
    expect(error.message).toBe('The image has 9 frames; at most 5 are allowed.');
    expect(reasonsOf(site('en'), error)).toEqual([error.message]);
    expect(JSON.stringify({ said: error.said })).toBe(JSON.stringify({ said: error.message }));
  });

  test('keeps its values on pages, translated if they can be', () => {
    const found = message('is {kind}', { kind: 'a PDF' });
    const values = { found, formats: 'JPEG, PNG', last: 'TIFF' };
    const error = new AppError(
      'not_an_image',
      message('The file {found}; {formats} and {last} are accepted.', values),
    );
    expect(error.message).toBe('The file is a PDF; JPEG, PNG and TIFF are accepted.');
    expect(inChinese(error)).toEqual(['该文件是 PDF 文件；支持 JPEG, PNG 和 TIFF 格式。']);
  });

  test('may contain braces, and names of what every object has', () => {
    const rule = message('must be one of {choices}', { choices: '{field}, constructor' });
    const said = message('{rule}, not {value}', { rule, value: 'constructor' });
    expect(String(said)).toBe('must be one of {field}, constructor, not constructor');
    const error = new AppError('invalid_parameter', 'No image was sent.', {
      details: [{ field: 'q', message: said }],
    });
    expect(inChinese(error)).toEqual([
      '按标题或名称搜索：必须是以下之一：{field}, constructor，而当前值为 constructor',
    ]);
  });

  test('names a field by its label, and its rule without it', () => {
    const rule = message('must be at most {most} bytes', { most: 72 });
    const error = invalidParameter('password', message('{field} {rule}.', { field: 'password', rule }));
    expect(error.message).toBe('password must be at most 72 bytes.');
    expect(inChinese(error)).toEqual(['密码：不得超过 72 字节']);
    expect(reasonsOf(site('en'), error)).toEqual(['Password must be at most 72 bytes.']);
  });

  test('is the title of its code on a page in another language, if it is for programs', () => {
    const error = new AppError('busy', inEnglish('Only programs see this.'));
    expect(reasonsOf(site('en'), error)).toEqual(['Only programs see this.']);
    expect(inChinese(error)).toEqual([]);
    expect(reasonOf(site('zh'), error)).toBe('服务器繁忙');
  });
});
