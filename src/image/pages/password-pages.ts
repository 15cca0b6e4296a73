import { AppError, type ErrorCode } from '../../errors.ts';
import { errorResponse } from '../../http/errors.ts';
import type { Caller } from '../../http/route.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { noticePage } from '../../web/notice-page.ts';
import { acceptsHtml, seeOther } from '../../web/page-response.ts';
import type { Site } from '../../web/site.ts';
import { ID_PATTERN } from '../records/ids.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { PagesOptions } from './page-parts.ts';

/** How a browser gets the cookie that opens a protected image. */
export function createPasswordPages({ service, siteOf, basePath }: PagesOptions) {
  return {
    /** Redirects a browser that has opened a direct link without the password to the form on the page. Rethrows any other error. */
    leadToForm(error: unknown, request: Request, id: string): Response {
      const isMended = error instanceof AppError && MENDED_BY_FORM.includes(error.code);
      if (!isMended || !acceptsHtml(request)) throw error;
      return seeOther(`${basePath}/i/${id}`);
    },

    /** Checks the form's password: redirects to the page with a cookie (programs get JSON with it), or shows the form again. */
    async unlock(
      { request, context }: Caller,
      id: string,
      { password = '', album = '' }: Record<string, string>,
    ): Promise<Response> {
      const image = await service.find(id);
      try {
        await service.open(image, { password: password || null, cookie: null }, context.peer);
      } catch (error) {
        return formAgain(error, siteOf(request), basePath, id, context.id, album);
      }
      const cookies = service.cookies.issue(image, { origin: context.origin, basePath });
      if (acceptsHtml(request)) {
        const page = ID_PATTERN.test(album) ? `a/${album}` : 'i';
        return seeOther(`${basePath}/${page}/${id}`, cookies);
      }
      return Response.json(
        { success: true, id },
        { headers: [['cache-control', PRIVATE_CACHE], ...cookies] },
      );
    },
  };
}

/** Used if it is unknown how long to wait. */
const DEFAULT_WAIT_MS = 60_000;

/** Errors that a password or a wait can resolve. */
const MENDED_BY_FORM: readonly ErrorCode[] = ['password_required', 'wrong_password', 'rate_limited'];

/**
 * Shows the form if it can resolve the error. Otherwise rethrows the error. `album`: ID of the album in which the image
 * is shown.
 */
export function formAgain(
  error: unknown,
  site: Site,
  basePath: string,
  id: string,
  requestId: string,
  album = '',
): Response {
  if (!(error instanceof AppError) || !MENDED_BY_FORM.includes(error.code)) throw error;
  const { status, headers } = errorResponse(error, requestId);
  const fault = faultWords(error, site);
  const retryAfter = headers.get('retry-after');
  const content = passwordForm(site, `${basePath}/i/${id}`, fault, album);
  const { passwordTitle: title, passwordQuestion: heading } = site.words.pictures;
  return noticePage(
    site,
    { title, heading, sign: 'lock', content },
    {
      status,
      cache: PRIVATE_CACHE,
      headers: retryAfter === null ? [] : [['retry-after', retryAfter]],
    },
  );
}

/** Returns what was wrong with a password, or `null` if none was given yet. */
function faultWords(
  { code, retryAfterMs = DEFAULT_WAIT_MS }: AppError,
  { words, formats }: Site,
): string | null {
  if (code === 'password_required') return null;
  if (code === 'wrong_password') return words.pictures.wrongPassword;
  return words.pictures.tooManyGuesses(formats.duration(retryAfterMs));
}

/**
 * Renders the form that asks for an image's password. It reveals nothing about the image. `fault`: what was wrong
 * with the previous password.
 */
function passwordForm(
  { words: { pictures } }: Site,
  path: string,
  fault: string | null,
  album: string,
): Html {
  return html`<form method="post" action="${path}" class="stack">
${
  album !== '' &&
  html`<input type="hidden" name="album" value="${album}">
`
}<p>
<label for="password">${pictures.password}</label>
<input id="password" type="password" name="password" required autofocus autocomplete="off"${fault !== null && html` aria-invalid="true" aria-describedby="fault"`}>
</p>
${fault !== null && html`<p class="fault" id="fault" role="alert">${icon('warning')}${fault}</p>`}
<p><button type="submit">${pictures.showPicture}</button></p>
</form>`;
}
