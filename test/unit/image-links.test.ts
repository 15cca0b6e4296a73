import { describe, expect, test } from 'bun:test';
import { linksOf } from '../../src/image/records/links.ts';
import { contentDisposition } from '../../src/image/serve/disposition.ts';

const BASE = 'https://img.example/pictures';
const IMAGE = { id: 'abcDEF123456', format: 'jpeg', alt: null, frames: 1 } as const;
const links = (filename: string, alt: string | null = null) =>
  linksOf(BASE, { ...IMAGE, width: 600, maxViews: null, filename, alt });

describe('the links of an image', () => {
  test('have the base path, the ID and the extension of the stored format', () => {
    expect(links('photo.png')).toEqual({
      url: `${BASE}/i/abcDEF123456`,
      raw_url: `${BASE}/i/abcDEF123456.jpg`,
      markdown: `![photo.png](${BASE}/i/abcDEF123456.jpg)`,
      html: `<img src="${BASE}/i/abcDEF123456.jpg" alt="photo.png">`,
      bbcode: `[img]${BASE}/i/abcDEF123456.jpg[/img]`,
    });
  });

  test('describe it by its alternative text, and by its name without one', () => {
    const { html, markdown } = links('a.png', 'Two "boats"');
    expect(html).toContain(' alt="Two &quot;boats&quot;">');
    expect(markdown).toContain('![Two "boats"](');
  });

  const HOSTILE = [
    `"><script>alert(1)</script>.png`,
    `' onerror='alert(1).png`,
    '](javascript:alert(1)) ![x.png',
    '\\](evil) \\\\.png',
    '`code` *a* _b_ ~c~ | d <b>.png',
    '&quot;&lt;.png',
    'two\nlines\r\n\u2028three\u0000.png',
    '😀 \ud800 half.png',
    'x'.repeat(300),
  ];

  test.each(HOSTILE)('keep the file name %j inside the HTML snippet', (filename) => {
    const { html } = links(filename);
    expect(html).toMatch(/^<img src="[^"<>]*" alt="[^"<>\n\r]*">$/);
    expect(html.isWellFormed()).toBe(true);
    // The rewriter is a real HTML parser: one element, and the text of the attribute comes back.
    const seen: string[] = [];
    new HTMLRewriter()
      .on('*', {
        element: (element) => void seen.push(`${element.tagName} ${[...element.attributes].length}`),
      })
      .transform(html);
    expect(seen).toEqual(['img 2']);
  });

  test.each(HOSTILE)('keep the file name %j inside the Markdown snippet', (filename) => {
    const { markdown, raw_url } = links(filename);
    expect(markdown).not.toMatch(/[\n\r\u0000\u2028]/);
    const alt = markdown.slice(2, -`](${raw_url})`.length);
    expect(markdown).toBe(`![${alt}](${raw_url})`);
    // What remains without escaped marks and backslashes has none that Markdown or HTML would read.
    expect(alt.replace(/\\[\\`*_~[\]()<>&!|#$^:]/g, '')).not.toMatch(/[\\`*_~[\]()<>&|]/);
  });

  test('show quotes and brackets of a file name as they are', () => {
    expect(links('a "b" & [c].png').html).toContain('alt="a &quot;b&quot; &amp; [c].png"');
    expect(links('a [b].png').markdown).toStartWith('![a \\[b\\].png](');
  });
});

describe('Content-Disposition', () => {
  test.each([
    ['photo.webp', 'inline; filename="photo.webp"'],
    ['photo.png', 'inline; filename="photo.webp"'],
    ['v1.2 notes', 'inline; filename="v1.2 notes.webp"'],
    ['no extension', 'inline; filename="no extension.webp"'],
    ['.png', 'inline; filename="image.webp"'],
    ['a"b\\c;d.png', `inline; filename="a_b_c_d.webp"; filename*=UTF-8''a%22b%5Cc%3Bd.webp`],
    ["it's (1)*.png", 'inline; filename="it\'s (1)*.webp"'],
    [
      'гавань.png',
      `inline; filename="______.webp"; filename*=UTF-8''%D0%B3%D0%B0%D0%B2%D0%B0%D0%BD%D1%8C.webp`,
    ],
    [
      'a\r\nSet-Cookie: x.png',
      `inline; filename="a__Set-Cookie: x.webp"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x.webp`,
    ],
  ])('of %j is %s', (filename, header) => {
    expect(contentDisposition('inline', filename, 'webp')).toBe(header);
  });

  test('with half a surrogate pair is still well-formed', () => {
    const header = contentDisposition('attachment', 'a\ud800.png', 'gif');
    expect(header).toBe(`attachment; filename="a_.gif"; filename*=UTF-8''a%EF%BF%BD.gif`);
  });
});

test('the snippet for HTML lets browsers choose a width, except of what has none', () => {
  const image = { ...IMAGE, filename: 'a.png', width: 1500 };
  const raw = `${BASE}/i/abcDEF123456.jpg`;
  expect(linksOf(BASE, { ...image, maxViews: null }).html).toBe(
    `<img src="${raw}" srcset="${raw}?w=640 640w, ${raw}?w=1280 1280w, ${raw} 1500w" alt="a.png">`,
  );
  for (const other of [{ maxViews: 3 }, { maxViews: null, frames: 4 }]) {
    expect(linksOf(BASE, { ...image, ...other }).html).not.toContain('srcset');
  }
});
