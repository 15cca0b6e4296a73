import { html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

/** Renders what an installed app shows while there is no network. */
export function offlinePage(site: Site): string {
  const { offline: words } = site.words.frame;
  return site.render({
    title: words.title,
    content: html`<section class="notice-page">
<p class="notice-icon">${icon('globe')}</p>
<h1>${words.title}</h1>
<p>${words.text}</p>
<p class="actions"><a class="button" href="">${words.again}</a></p>
</section>`,
  });
}
