import { type AppError, type ErrorDetail, filled, Message } from '../errors.ts';
import { html } from './html.ts';
import { noticePage } from './notice-page.ts';
import type { Site } from './site.ts';

/** Renders an error in plain words, instead of its envelope. `requestId` finds the request in the log. */
export function errorPage(
  site: Site,
  error: AppError,
  { status, headers: known }: Pick<Response, 'status' | 'headers'>,
  requestId: string,
): Response {
  const { code, retryAfterMs } = error;
  const { errors } = site.words;
  const { title, advice } = errors.byCode[code] ?? errors.byCode.other;
  // About a token, they speak to programs.
  const reasons = code === 'unauthorized' ? [] : reasonsOf(site, error);
  const content = html`${reasons.map((reason) => html`<p>${reason}</p>`)}
<p class="muted">${advice} ${retryAfterMs !== undefined && errors.tryAgainIn(site.formats.duration(retryAfterMs))}</p>
<p><a class="button" href="${site.path}/">${errors.home}</a></p>
<p class="small muted">${errors.request(status)} <code>${requestId}</code></p>`;
  const retryAfter = known.get('retry-after');
  const headers: [string, string][] = retryAfter === null ? [] : [['retry-after', retryAfter]];
  return noticePage(site, { title, sign: 'warning', content }, { status, cache: 'no-store', headers });
}

/** Returns what was wrong, one sentence for each fault; none if the page has no words for it in its language. */
export function reasonsOf(site: Site, { said: message, details = [] }: AppError): string[] {
  if (details.length > 0) return details.map((detail) => faultOf(site, detail));
  const said = inWords(site, message);
  return said === null ? [] : [said];
}

/** Returns the same on one line; the title of its code if there is nothing more to say. */
export function reasonOf(site: Site, error: AppError): string {
  const { byCode } = site.words.errors;
  return reasonsOf(site, error).join(' ') || (byCode[error.code] ?? byCode.other).title;
}

/**
 * Returns a message in the language of the page; `null` if that has no words for it. Values are translated if
 * possible.
 */
function inWords(site: Site, said: Message | string): string | null {
  const { messages } = site.words.errors;
  if (messages === null) return String(said);
  const { template, values } = said instanceof Message ? said : new Message(said);
  if (!Object.hasOwn(messages, template)) return null;
  return filled(messages[template as keyof typeof messages], (name) => {
    const value = values[name];
    return value === undefined || typeof value === 'number' ? value : (inWords(site, value) ?? value);
  });
}

/** Returns the fault of a field, with the label that it has on our pages. */
function faultOf(site: Site, { field, message }: ErrorDetail): string {
  const { upload, gallery, errors } = site.words;
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
  };
  return faultyField(site, labels[field] ?? field, message, field);
}

/** Returns what is wrong with the field of that label. `name`: with which the message may begin. */
export function faultyField(site: Site, label: string, message: Message | string, name = ''): string {
  const { errors } = site.words;
  const said = inWords(site, message);
  if (said === null) return errors.wrongField(label);
  return errors.faultyField(label, said.startsWith(`${name} `) ? said.slice(name.length + 1) : said);
}
