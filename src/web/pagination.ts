import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

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
