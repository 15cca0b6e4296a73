import type { AppError, ErrorCode, ErrorDetail } from '../errors.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { pageResponse } from './page-response.ts';
import type { Site } from './site.ts';

/** An error in plain words, in place of its envelope. `requestId` finds the request in the log. */
export function errorPage(
  site: Site,
  error: AppError,
  { status, headers: known }: Pick<Response, 'status' | 'headers'>,
  requestId: string,
): Response {
  const { code, retryAfterMs } = error;
  const { errors } = site.words;
  const { title, advice } = errors.byCode[code] ?? errors.byCode.other;
  const page = site.render({
    title,
    content: html`<section class="notice-page">
<p class="notice-icon">${icon('warning')}</p>
<h1>${title}</h1>
${reason(site, error)}
<p class="muted">${advice} ${retryAfterMs !== undefined && errors.tryAgainIn(site.formats.duration(retryAfterMs))}</p>
<p><a class="button" href="${site.path}/">${errors.home}</a></p>
<p class="small muted">${errors.request(status)} <code>${requestId}</code></p>
</section>`,
  });
  const retryAfter = known.get('retry-after');
  const headers: [string, string][] = retryAfter === null ? [] : [['retry-after', retryAfter]];
  return pageResponse(site, page, { status, cache: 'no-store', headers });
}

/** Codes whose messages say more than the words for them: what was sent, and what the bounds are. */
const TELLING: readonly ErrorCode[] = [
  'conflict',
  'image_limit',
  'not_an_image',
  'too_large',
  'undecodable_image',
];

/** What was wrong in this case. Messages of the API are English; other languages show them only where nothing else says it. */
function reason(site: Site, { code, message, details = [] }: AppError): Html | null {
  const isEnglish = site.language === 'en';
  if (details.length > 0) return html`${details.map((detail) => html`<p>${faultOf(site, detail)}</p>`)}`;
  if (isEnglish) return html`<p>${message}</p>`;
  return TELLING.includes(code) ? html`<p class="small" lang="en">${message}</p>` : null;
}

/** A fault of a field, by the label that it has on our pages. */
function faultOf({ language, words }: Site, { field, message }: ErrorDetail): string {
  const { upload, gallery, errors } = words;
  const labels: Partial<Record<string, string>> = {
    image: errors.file,
    format: upload.format,
    max_width: upload.maxWidth,
    max_height: upload.maxHeight,
    max_views: upload.views,
    expires_in: upload.expires,
    password: upload.password,
    visibility: upload.whoSeesIt,
    strip_exif: upload.keepMetadata,
    q: gallery.search,
    from: gallery.from,
    to: gallery.to,
  };
  const label = labels[field] ?? field;
  if (language !== 'en') return errors.wrongField(label);
  const rule = message.startsWith(`${field} `) ? message.slice(field.length + 1) : message;
  return errors.faultyField(label, rule);
}
