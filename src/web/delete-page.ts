import { html } from './html.ts';
import { layout } from './layout.ts';

const noIndex = html`<meta name="robots" content="noindex">`;

/** Asks whether the image shall really be deleted: opening a link must not delete anything. */
export function deletePage(page: { basePath: string; id: string; filename: string; token: string }): string {
  const { basePath, id, filename, token } = page;
  return layout({
    title: 'Delete image',
    basePath,
    head: noIndex,
    content: html`<h1>Delete this image?</h1>
<p>${filename} (${id}) will be gone for everybody. This cannot be undone.</p>
<form method="post" action="${basePath}/i/${id}/delete">
<input type="hidden" name="token" value="${token}">
<button class="danger" type="submit">Delete</button>
</form>`,
  });
}

/** Says that it is done. */
export function deletedPage({ basePath, id }: { basePath: string; id: string }): string {
  return layout({
    title: 'Image deleted',
    basePath,
    head: noIndex,
    content: html`<h1>Image deleted</h1>
<p>The image ${id} is gone.</p>`,
  });
}
