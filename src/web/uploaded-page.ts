import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';
import { snippet } from './snippet.ts';
import { counted } from './words.ts';

/** What became of one of several files: its links, or what was wrong. */
export type UploadedItem =
  | { filename: string; url: string; deleteLink: string; inReview: boolean }
  | { filename: string | null; fault: string };

/** The answer to a form that has brought several files, for a browser without scripts. */
export function uploadedPage(site: Site, items: readonly UploadedItem[]): string {
  const stored = items.filter((item) => 'url' in item).length;
  return site.render({
    title: 'Uploaded',
    scripts: ['copy.js'],
    content: html`<h1>${counted(stored, 'picture')} uploaded</h1>
<p>Keep the delete links if you may want to delete them from somewhere else. They are shown only this once.</p>
${items.map((item, index) => itemOf(site, item, index))}
<p class="actions"><a class="button" href="${site.path}/">Upload more</a></p>`,
  });
}

function itemOf(site: Site, item: UploadedItem, index: number): Html {
  if ('fault' in item) {
    return html`<section class="banner bad"><h2>${icon('warning')}${item.filename ?? `File ${index + 1}`}</h2><p>${item.fault}</p></section>
`;
  }
  return html`<section class="banner good"><h2>${icon('check')}<a href="${item.url}">${item.filename}</a></h2>
${item.inReview && html`<p>The operator looks at it before anybody else can. Until then its links lead nowhere.</p>`}
${snippet(site, `page-${index}`, 'Page', item.url)}
${snippet(site, `delete-${index}`, 'Delete link', item.deleteLink)}
</section>
`;
}
