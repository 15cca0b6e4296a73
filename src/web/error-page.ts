import type { AppError, ErrorCode } from '../errors.ts';
import { html } from './html.ts';
import { icon } from './icons.ts';
import { pageResponse } from './page-response.ts';
import type { Site } from './site.ts';

/** What to say first, and what to do about it. */
const WORDS: Partial<Record<ErrorCode, [title: string, advice: string]>> = {
  not_found: ['Nothing is here', 'The link may be mistyped, or what was here has been deleted.'],
  gone: ['This picture is gone', 'Its time is over, or it was seen as often as its uploader allowed.'],
  forbidden: ['This is not allowed', 'Only who uploaded a picture may delete it.'],
  rate_limited: ['That was too fast', 'This server limits how much one address may ask for.'],
  busy: ['The server is busy', 'It does as much as it can at the moment.'],
  unavailable: ['Something is away', 'A part that the server needs does not answer. It will be back.'],
  storage_full: ['The storage is full', 'Nothing can be uploaded until there is room again.'],
  too_large: ['This file is too large', 'Make it smaller, or choose another one.'],
  not_an_image: ['This file is not accepted', 'Save it in one of these formats, or choose another one.'],
  undecodable_image: [
    'This picture is broken',
    'It could not be read. Save it again, or choose another one.',
  ],
  image_limit: ['This picture is too big', 'It has more pixels or frames than this server takes.'],
  conversion_timeout: ['This picture took too long', 'Choose a smaller one, or another format.'],
  internal: ['Something went wrong', 'It is the fault of this server, and it has been written down.'],
};

/** An error in plain words, in place of its envelope. `requestId` finds the request in the log. */
export function errorPage(
  site: Site,
  { code, message, retryAfterMs }: AppError,
  { status, headers: known }: Pick<Response, 'status' | 'headers'>,
  requestId: string,
): Response {
  const [title, advice] = WORDS[code] ?? ['This did not work', ''];
  const page = site.render({
    title,
    content: html`<section class="notice-page">
<p class="notice-icon">${icon('warning')}</p>
<h1>${title}</h1>
<p>${message}</p>
<p class="muted">${advice} ${retryAfterMs !== undefined && `Try again in ${waitingTime(retryAfterMs)}.`}</p>
<p><a class="button" href="${site.path}/">To the start</a></p>
<p class="small muted">Error ${status}, request <code>${requestId}</code></p>
</section>`,
  });
  const retryAfter = known.get('retry-after');
  const headers: [string, string][] = retryAfter === null ? [] : [['retry-after', retryAfter]];
  return pageResponse(page, { status, cache: 'no-store', headers });
}

function waitingTime(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  if (seconds === 1) return 'a second';
  return seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}
