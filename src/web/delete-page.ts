import { html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

export interface DeletePage {
  basePath: string;
  id: string;
  filename: string;
  /** `null` where the visitor's address is enough. */
  token: string | null;
}

/** Asks whether the image shall really be deleted: opening a link must not delete anything. */
export function deletePage(site: Site, { basePath, id, filename, token }: DeletePage): string {
  return site.render({
    title: 'Delete image',
    content: html`<section class="notice-page">
<p class="notice-icon">${icon('trash')}</p>
<h1>Delete this picture?</h1>
<p><strong class="wrap">${filename}</strong> will be gone for everybody, and its links will be dead. This cannot be undone.</p>
<form class="actions" method="post" action="${basePath}/i/${id}/delete">
${token !== null && html`<input type="hidden" name="token" value="${token}">`}
<button class="danger" type="submit">${icon('trash')}Delete</button>
<a class="button quiet" href="${basePath}/i/${id}">Keep it</a>
</form>
</section>`,
  });
}

/** Says that it is done. */
export function deletedPage(site: Site, { basePath, id }: { basePath: string; id: string }): string {
  return site.render({
    title: 'Image deleted',
    scripts: ['image.js'],
    content: html`<section class="notice-page" data-deleted="${id}">
<p class="notice-icon">${icon('check')}</p>
<h1>Picture deleted</h1>
<p>It is gone. Copies in caches of others may live a little longer.</p>
<p class="actions"><a class="button" href="${site.path}/">Upload another one</a> <a class="button quiet" href="${basePath}/gallery">Gallery</a></p>
</section>`,
  });
}
