import type { AppError } from '../errors.ts';
import { html } from './html.ts';
import { icon } from './icons.ts';
import { pageResponse } from './page-response.ts';
import type { Site } from './site.ts';

/** An error in plain words, in place of its envelope. `requestId` finds the request in the log. */
export function errorPage(
  site: Site,
  { code, message, retryAfterMs }: AppError,
  { status, headers: known }: Pick<Response, 'status' | 'headers'>,
  requestId: string,
): Response {
  const { errors } = site.words;
  const { title, advice } = errors.byCode[code] ?? errors.byCode.other;
  const page = site.render({
    title,
    content: html`<section class="notice-page">
<p class="notice-icon">${icon('warning')}</p>
<h1>${title}</h1>
<p lang="en">${message}</p>
<p class="muted">${advice} ${retryAfterMs !== undefined && errors.tryAgainIn(site.formats.duration(retryAfterMs))}</p>
<p><a class="button" href="${site.path}/">${errors.home}</a></p>
<p class="small muted">${errors.request(status)} <code>${requestId}</code></p>
</section>`,
  });
  const retryAfter = known.get('retry-after');
  const headers: [string, string][] = retryAfter === null ? [] : [['retry-after', retryAfter]];
  return pageResponse(site, page, { status, cache: 'no-store', headers });
}
