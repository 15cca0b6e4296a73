import { html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

export interface DeletePage {
  basePath: string;
  id: string;
  filename: string;
  /** `null` if the visitor's address is enough. */
  token: string | null;
}

/** Asks the visitor to confirm the deletion: opening a link must not delete anything. */
export function deletePage(site: Site, { basePath, id, filename, token }: DeletePage): string {
  const { pictures } = site.words;
  return site.render({
    title: pictures.deleteTitle,
    content: html`<section class="notice-page">
<p class="notice-icon">${icon('trash')}</p>
<h1>${pictures.deleteQuestion}</h1>
<p>${pictures.deleteWarning(html`<strong class="wrap">${filename}</strong>`)}</p>
<form class="actions" method="post" action="${basePath}/i/${id}/delete">
${token !== null && html`<input type="hidden" name="token" value="${token}">`}
<button class="danger" type="submit">${icon('trash')}${pictures.delete}</button>
<a class="button quiet" href="${basePath}/i/${id}">${pictures.keep}</a>
</form>
</section>`,
  });
}

/** Confirms that the image was deleted. */
export function deletedPage(site: Site, { basePath, id }: { basePath: string; id: string }): string {
  const { pictures, frame } = site.words;
  return site.render({
    title: pictures.deleted,
    scripts: ['image.js'],
    content: html`<section class="notice-page" data-deleted="${id}">
<p class="notice-icon">${icon('check')}</p>
<h1>${pictures.deleted}</h1>
<p>${pictures.deletedNote}</p>
<p class="actions"><a class="button" href="${site.path}/">${pictures.uploadAnother}</a> <a class="button quiet" href="${basePath}/gallery">${frame.nav.gallery}</a></p>
</section>`,
  });
}
