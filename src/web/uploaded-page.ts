import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';
import { snippet } from './snippet.ts';

/** The result of one of several files: its links, or what was wrong. */
export type UploadedItem =
  | { filename: string; url: string; deleteLink: string; inReview: boolean }
  | { filename: string | null; fault: string };

/** Renders the answer to a form with several files, for a browser without scripts. */
export function uploadedPage(site: Site, items: readonly UploadedItem[]): string {
  const { upload: words } = site.words;
  const stored = items.filter((item) => 'url' in item).length;
  return site.render({
    title: words.uploadedTitle,
    scripts: ['copy.js'],
    content: html`<h1>${site.formats.plural(stored, words.picturesUploaded)}</h1>
<p>${words.keepDeleteLinks}</p>
${items.map((item, index) => itemOf(site, item, index))}
<p class="actions"><a class="button" href="${site.path}/">${words.uploadMore}</a></p>`,
  });
}

function itemOf(site: Site, item: UploadedItem, index: number): Html {
  const { upload: words } = site.words;
  if ('fault' in item) {
    const name = item.filename ?? words.fileNumber(site.formats.number(index + 1));
    return html`<section class="banner bad"><h2>${icon('warning')}${name}</h2><p>${item.fault}</p></section>
`;
  }
  return html`<section class="banner good"><h2>${icon('check')}<a href="${item.url}">${item.filename}</a></h2>
${item.inReview && html`<p>${words.inReview}</p>`}
${snippet(site, `page-${index}`, words.page, item.url)}
${snippet(site, `delete-${index}`, words.deleteLink, item.deleteLink)}
</section>
`;
}
