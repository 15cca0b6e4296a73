import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

/** Renders a text to copy: it can be selected without a script, and copied by a button with one. */
export function snippet(site: Site, id: string, label: string, text: string): Html {
  return html`<div class="snippet">
<label for="${id}">${label}</label>
<input id="${id}" readonly value="${text}">
${copyButton(site, id, label)}
</div>
`;
}

/** Renders code to copy. */
export function codeBlock(site: Site, id: string, label: string, code: string): Html {
  return html`<div class="code"><pre tabindex="0" aria-label="${label}"><code id="${id}">${code}</code></pre>${copyButton(site, id, label)}</div>`;
}

function copyButton({ words: { frame } }: Site, id: string, label: string): Html {
  return html`<button class="copy needs-script" type="button" data-copy-from="${id}" aria-label="${frame.copyWhat(label)}">${icon('copy')}<span>${frame.copy}</span></button>`;
}

interface Pagination {
  /** From 1. */
  page: number;
  pages: number;
  href: (page: number) => string;
}

/** Renders links to the neighbouring pages; nothing if there is only one page. */
export function pagination(
  { words: { frame }, formats }: Pick<Site, 'words' | 'formats'>,
  { page, pages, href }: Pagination,
): Html | null {
  if (pages <= 1) return null;
  const link = (to: number, label: string, rel: string, possible: boolean) =>
    possible
      ? html`<a class="button quiet" rel="${rel}" href="${href(to)}">${label}</a>`
      : html`<span class="button quiet off" aria-hidden="true">${label}</span>`;
  return html`<nav class="pagination" aria-label="${frame.pages}">
${link(Math.min(page - 1, pages), frame.previous, 'prev', page > 1)}
<span>${frame.pageOf(formats.number(page), formats.number(pages))}</span>
${link(page + 1, frame.next, 'next', page < pages)}
</nav>`;
}
