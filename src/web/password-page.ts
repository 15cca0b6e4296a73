import { html } from './html.ts';
import { layout } from './layout.ts';

/** The form that asks for an image's password. It tells nothing about the image. */
export function passwordPage(page: { basePath: string; id: string; fault: string | null }): string {
  const { basePath, id, fault } = page;
  return layout({
    title: 'Password needed',
    basePath,
    head: html`<meta name="robots" content="noindex">`,
    content: html`<h1>This image needs a password</h1>
<form method="post" action="${basePath}/i/${id}">
${fault !== null && html`<p class="fault" role="alert">${fault}</p>`}
<label>Password<input type="password" name="password" required autofocus autocomplete="off"></label>
<button type="submit">Show the image</button>
</form>`,
  });
}
