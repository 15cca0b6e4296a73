import { type Html, html } from './html.ts';
import { readableNumber } from './words.ts';

export interface Pagination {
  /** From 1. */
  page: number;
  pages: number;
  href: (page: number) => string;
}

/** Links to the pages around; nothing where there is only one. */
export function pagination({ page, pages, href }: Pagination): Html | null {
  if (pages <= 1) return null;
  const link = (to: number, label: string, rel: string, possible: boolean) =>
    possible
      ? html`<a class="button quiet" rel="${rel}" href="${href(to)}">${label}</a>`
      : html`<span class="button quiet off" aria-hidden="true">${label}</span>`;
  return html`<nav class="pagination" aria-label="Pages">
${link(Math.min(page - 1, pages), 'Previous', 'prev', page > 1)}
<span>Page ${readableNumber(page)} of ${readableNumber(pages)}</span>
${link(page + 1, 'Next', 'next', page < pages)}
</nav>`;
}
