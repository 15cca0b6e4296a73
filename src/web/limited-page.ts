import { html } from './html.ts';
import { icon } from './icons.ts';
import { actions, created, facts, type ImagePage } from './image-page.ts';
import type { Site } from './site.ts';
import { snippet } from './snippet.ts';

export interface LimitedPage extends ImagePage {
  viewsLeft: number;
}

/**
 * Renders the page of an image with limited views. It does not show the picture: opening a link, or previewing it,
 * must not use up a view by accident.
 */
export function limitedPage(site: Site, image: LimitedPage): string {
  const { filename, path, links, viewsLeft } = image;
  const { pictures } = site.words;
  return site.render({
    title: filename,
    scripts: ['copy.js', 'image.js'],
    content: html`${created(site, image)}<article class="picture-page">
<div class="notice-page">
<p class="notice-icon">${icon('picture')}</p>
<p>${pictures.viewsLeft(viewsLeft)}</p>
<p><a class="button" href="${path}" rel="nofollow">${pictures.showPicture}</a></p>
</div>
<div class="picture-side">
<h1>${filename}</h1>
${facts(site, image)}
${actions(site, image)}
<section aria-labelledby="share">
<h2 id="share">${pictures.share}</h2>
${snippet(site, 'copy-page', pictures.page, links.url)}</section>
</div>
</article>`,
  });
}
