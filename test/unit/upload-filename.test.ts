import { expect, test } from 'bun:test';
import { cleanFilename, cutText } from '../../src/image/upload/filename.ts';

const cases: [string, string, string | null][] = [
  ['an ordinary name stays', 'holiday photo.jpg', 'holiday photo.jpg'],
  ['folders in the style of Unix go', '../../etc/passwd', 'passwd'],
  ['folders in the style of Windows go', 'C:\\Users\\me\\cat.png', 'cat.png'],
  ['control characters go', 'a\r\nb\0c\u007f\u0085.png', 'abc.png'],
  ['characters that turn the direction of text go', 'gpj\u202exe.jpg', 'gpjxe.jpg'],
  ['markup is text, and stays', '"><script>.png', '"><script>.png'],
  ['any script stays', '日本 نص 😀.png', '日本 نص 😀.png'],
  ['a lone surrogate becomes a replacement character', 'a\ud83d.png', 'a\ufffd.png'],
  ['spaces around it go', '  a.png ', 'a.png'],
  ['an empty text is not a name', '', null],
  ['dots are not a name', '..', null],
  ['what stands for standard input is not a name', '-', null],
  ['a folder is not a name', 'folder/', null],
  ['control characters are not a name', '\n\t', null],
  ['a name of 255 stays', 'x'.repeat(255), 'x'.repeat(255)],
  ['a longer one keeps its extension', `${'x'.repeat(300)}.jpeg`, `${'x'.repeat(250)}.jpeg`],
  ['what only looks like an extension is cut', `a.${'x'.repeat(300)}`, `a.${'x'.repeat(253)}`],
  ['characters outside the BMP are not cut in half', '😀'.repeat(256), '😀'.repeat(255)],
];

for (const [name, raw, clean] of cases) {
  test(`file names: ${name}`, () => {
    expect(cleanFilename(raw)).toBe(clean);
  });
}

test('a text is cut between characters, not within one', () => {
  expect(['ab😀c', 'ab😀', 'abc'].map((text) => cutText(text, 3))).toEqual(['ab', 'ab', 'abc']);
});
