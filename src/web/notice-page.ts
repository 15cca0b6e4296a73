import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { type PageAnswer, pageResponse } from './page-response.ts';
import type { PageOptions, Site } from './site.ts';

interface Notice extends Pick<PageOptions, 'title' | 'scripts'> {
  /** Default: the title. */
  heading?: string;
  /** Stands above the heading. */
  sign?: Parameters<typeof icon>[0];
  content: Html;
}

/** Returns a page that says or asks one thing. */
export function noticePage(
  site: Site,
  { heading, sign, content, ...options }: Notice,
  answer: PageAnswer,
): Response {
  const page = site.render({
    ...options,
    content: html`<section class="notice-page">
${sign && html`<p class="notice-icon">${icon(sign)}</p>`}
<h1>${heading ?? options.title}</h1>
${content}</section>`,
  });
  return pageResponse(site, page, answer);
}
