import { html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

export interface PasswordPage {
  basePath: string;
  id: string;
  /** What was wrong with the previous password. */
  fault: string | null;
}

/** Renders the form that asks for an image's password. It reveals nothing about the image. */
export function passwordPage(site: Site, { basePath, id, fault }: PasswordPage): string {
  const { pictures } = site.words;
  return site.render({
    title: pictures.passwordTitle,
    content: html`<section class="notice-page">
<p class="notice-icon">${icon('lock')}</p>
<h1>${pictures.passwordQuestion}</h1>
<form method="post" action="${basePath}/i/${id}" class="stack">
<p>
<label for="password">${pictures.password}</label>
<input id="password" type="password" name="password" required autofocus autocomplete="off"${fault !== null && html` aria-invalid="true" aria-describedby="fault"`}>
</p>
${fault !== null && html`<p class="fault" id="fault" role="alert">${icon('warning')}${fault}</p>`}
<p><button type="submit">${pictures.showPicture}</button></p>
</form>
</section>`,
  });
}
