import { FORMATS } from '../../codec/format.ts';
import { acceptedNames } from '../../codec/formats.ts';
import { AppError } from '../../errors.ts';
import { readableBytes } from '../../lib/format.ts';
import { qrSvg } from '../../lib/qr-code.ts';
import { reasonOf } from '../../web/error-page.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { HomeSection } from '../../web/routes.ts';
import type { Site } from '../../web/site.ts';
import type { AlbumRecord } from '../albums/album.ts';
import type { Invite } from '../albums/invites.ts';
import { type ImageRecord, VISIBILITIES, type Visibility } from '../image.ts';
import { chosenAudience, MOST_VIEWS } from '../records/audience.ts';
import type { ImageService } from '../service.ts';
import type { ImageLimits } from '../upload/quota.ts';
import { DEFAULT_SIDE, MAX_SIDE } from '../upload/upload-options.ts';
import { expiryOptions } from './page-parts.ts';
import { pictureTile } from './picture-rows.ts';

/** Number of public pictures that the home page shows. */
const LATEST = 6;

interface HomeOptions {
  service: Pick<ImageService, 'list' | 'limits'>;
  basePath: string;
  /** True if only holders of tokens may upload. */
  needsToken?: boolean;
  /** True if people who upload here may also have the server fetch pictures. */
  fromUrl?: boolean;
}

interface UploadForm {
  basePath: string;
  needsToken: boolean;
  fromUrl?: boolean;
  limits: ImageLimits;
  /** True if the visitor has an Apple keyboard. */
  hasCommandKey?: boolean;
  /** Who sees a picture unless the visitor says otherwise. */
  chosen?: Visibility;
  /** Where guests add pictures, and what is said to them instead of options. */
  guest?: { action: string; title: string; note: string };
}

/** What the page of an invitation shows. */
interface GuestView {
  album: Pick<AlbumRecord, 'id' | 'title'>;
  invite: Pick<Invite, 'expiresAt'>;
  /** How many more pictures it allows, and the album has room for. */
  room: number;
  basePath: string;
  /** Of this page. */
  url: string;
  limits: ImageLimits;
}

/** Renders the page from which guests add pictures to an album. */
export function guestPage(site: Site, { album, invite, room, basePath, url, limits }: GuestView): string {
  const { guests, albums } = site.words;
  const title = album.title || albums.untitled;
  const left = site.formats.plural(room, guests.left);
  const note = guests.note(left, site.formats.dateTime(invite.expiresAt));
  const { pathname, search } = new URL(url);
  const form = { basePath, needsToken: false, limits, guest: { action: pathname + search, title, note } };
  return site.render({
    title: guests.title(title),
    scripts: ['copy.js', 'upload.js'],
    content: html`${uploadSection(site, form, [], null)}
<section class="guests" aria-labelledby="pass-on">
<h2 id="pass-on">${guests.passOn}</h2>
<img src="data:image/svg+xml;base64,${Buffer.from(qrSvg(url)).toString('base64')}" alt="${guests.code}" width="240" height="240">
<p><a href="${basePath}/a/${album.id}">${guests.seeAlbum}</a></p>
</section>`,
  });
}

/** Returns what the home page shows of the image host, even if the store does not answer. */
export async function imageHome(
  site: Site,
  request: Request,
  { service, basePath, needsToken = false, fromUrl = false }: HomeOptions,
): Promise<HomeSection> {
  let fault: string | null = null;
  const latest = await service.list({ page: 1, perPage: LATEST }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    fault = reasonOf(site, error);
    return { items: [] };
  });
  const hasCommandKey = /\bMac OS X\b/.test(request.headers.get('user-agent') ?? '');
  const chosen = chosenAudience(request, service.limits);
  const form = { basePath, needsToken, fromUrl, limits: service.limits, hasCommandKey, chosen };
  return {
    content: uploadSection(site, form, latest.items, fault),
    scripts: ['copy.js', 'upload.js'],
    summary: site.words.upload.summary,
  };
}

/**
 * Renders the image host on the home page: a place to drop pictures, uploads of this browser, and the latest
 * pictures.
 */
function uploadSection(
  site: Site,
  form: UploadForm,
  latest: readonly ImageRecord[],
  fault: string | null,
): Html {
  const { basePath, guest } = form;
  const { upload: words, guests } = site.words;
  return html`<section class="hero" id="uploader" aria-labelledby="upload-title">
<div class="pitch">
<h1 id="upload-title">${guest ? guest.title : words.title}</h1>
<p class="lead">${guest ? guests.lead : words.lead}</p>
${
  guest
    ? html`<p class="muted">${guest.note}</p>`
    : html`<ul class="promises">
${words.promises.map((promise) => html`<li>${icon('check')}${promise}</li>\n`)}</ul>`
}
</div>
<section class="uploads" id="uploads" aria-labelledby="uploads-title" hidden>
<header class="section-head"><h2 id="uploads-title" tabindex="-1">${words.uploads}</h2>
<div class="actions">
<button type="button" class="quiet" id="add-more">${icon('upload')}${words.addMore}</button>
<span class="actions" id="uploads-actions" hidden>
<button type="button" class="copy-link" id="copy-all">${icon('copy')}<span>${words.copyAll}</span></button>
<button type="button" class="quiet" id="make-album">${icon('picture')}${words.makeAlbum}</button>
</span></div>
<div class="actions chosen" id="chosen-cards" hidden></div></header>
<ul class="cards" id="failures"></ul>
<div class="banner" id="album" hidden></div>
<ul class="cards" id="cards"></ul>
</section>
${uploadForm(site, form)}
</section>
${fault !== null && html`<p class="banner bad" role="alert">${icon('warning')}${fault}</p>`}
<section id="mine" aria-labelledby="mine-title" hidden>
<header class="section-head"><h2 id="mine-title" tabindex="-1">${words.mine}</h2><button class="quiet small" type="button" id="forget">${words.forget}</button></header>
<p class="small muted">${words.mineNote}</p>
<div class="actions chosen" id="chosen-mine" hidden></div>
<ul class="mine" id="mine-list"></ul>
<p class="actions"><button class="quiet small" type="button" id="mine-more" hidden></button></p>
</section>
<section id="my-albums" aria-labelledby="my-albums-title" hidden>
<header class="section-head"><h2 id="my-albums-title">${words.myAlbums}</h2></header>
<p class="small muted">${words.myAlbumsNote}</p>
<ul class="mine" id="my-albums-list"></ul>
</section>
${!guest && otherDevice(words)}
${
  latest.length > 0 &&
  html`<section aria-labelledby="latest">
<header class="section-head"><h2 id="latest">${words.latest}</h2><a href="${basePath}/gallery">${words.allPublic}</a></header>
<ul class="tiles">
${latest.map((tile) => pictureTile(tile, basePath, false))}</ul></section>`
}`;
}

/** Brings what this browser keeps to another device. Guests do that on the home page, where they have all of it. */
const otherDevice = (
  words: Site['words']['upload'],
) => html`<details class="lists needs-script" id="lists"><summary>${words.otherDevice}</summary>
<p class="small muted">${words.otherDeviceNote}</p>
<p class="actions" id="list-actions" inert><button class="quiet small" type="button" id="list-link">${words.listLink}</button> <button class="quiet small" type="button" id="list-save">${words.listSave}</button> <label class="button quiet small" for="list-file">${words.listLoad}</label><input class="visually-hidden" id="list-file" type="file" accept="application/json,.json"></p>
<div class="banner stack" id="lists-result"></div>
</details>`;

const ACCEPTED_TYPES =
  'image/jpeg,image/png,image/webp,image/gif,image/avif,image/heic,image/heif,image/tiff,image/jxl,image/bmp,image/x-icon';

function uploadForm(site: Site, form: UploadForm): Html {
  const { basePath, needsToken, fromUrl = false, limits, hasCommandKey = false, guest } = form;
  const { upload: words } = site.words;
  const names = site.formats.anyOf(acceptedNames(limits.heic));
  const keys = html`<span class="keys">${hasCommandKey ? html`<kbd>⌘</kbd><kbd>V</kbd>` : html`<kbd>Ctrl</kbd> <kbd>V</kbd>`}</span>`;
  return html`<form id="upload" class="upload" method="post" enctype="multipart/form-data" action="${guest?.action ?? `${basePath}/api/upload`}"${guest && html` data-guest`} data-max-bytes="${limits.maxUploadBytes}" data-accepted="${names}"${limits.listing !== 'off' && !guest && html` data-listed`}${fromUrl && html` data-from-url`}>
${
  needsToken &&
  html`<p class="token needs-script"><label for="token">${words.token}</label><input id="token" type="password" autocomplete="off" aria-describedby="token-hint"><span class="small muted" id="token-hint">${words.tokenNeeded}</span></p>
`
}<div class="dropzone">
<input class="visually-hidden" id="file" type="file" name="image" multiple required accept="${ACCEPTED_TYPES}" aria-describedby="file-hint">
<label for="file">${icon('upload')}<span class="dropzone-action">${guest ? site.words.guests.add : words.choose}</span><span class="needs-script needs-pointer">${fromUrl ? words.dropOrPasteUrl(keys) : words.dropOrPaste(keys)}</span></label>
<p class="small muted" id="file-hint">${words.limits(names, readableBytes(limits.maxUploadBytes))}</p>
<noscript><p class="no-script-file">${words.chosenAreSent}</p><button type="submit">${words.upload}</button></noscript>
</div>
<p class="fault" id="held" role="alert" hidden></p>
${!guest && audience(site, form)}
${!guest && options(site)}
</form>`;
}

/** Explains beside the button who will see the picture and for how long. */
function audience(site: Site, { chosen, limits }: UploadForm) {
  const { upload: words } = site.words;
  const choices = VISIBILITIES.filter((one) => one !== 'public' || limits.listing !== 'off');
  return html`<div class="fields audience">
<p class="wide"><label for="visibility">${words.whoSeesIt}</label>
<select id="visibility" name="visibility">${choices.map((one) => html`<option value="${one}"${one === chosen && html` selected`}>${words.seenBy[one]}</option>`)}</select></p>
<p class="wide password"><label for="password">${words.password}</label>
<input id="password" type="password" name="password" autocomplete="new-password" maxlength="256"></p>
<p><label for="expires_in">${words.expires}</label>
<select id="expires_in" name="expires_in">${expiryOptions(site, limits, '')}</select></p>
<p><label for="max_views">${words.views}</label>
<input id="max_views" name="max_views" type="number" min="1" max="${MOST_VIEWS}" placeholder="${words.unlimited}"></p>
</div>`;
}

function options({ words: { upload: words }, formats: write }: Site): Html {
  const pixels = words.pixels(write.number(DEFAULT_SIDE));
  return html`<details class="options">
<summary>${icon('options')}${words.options}</summary>
<div class="fields">
<p><label for="format">${words.format}</label>
<select id="format" name="format">${FORMATS.map((format) => html`<option value="${format}">${words.formats[format]}</option>`)}<option value="auto">${words.formats.auto}</option></select></p>
<p><label for="max_width">${words.maxWidth}</label>
<input id="max_width" name="max_width" type="number" min="1" max="${MAX_SIDE}" placeholder="${pixels}"></p>
<p><label for="max_height">${words.maxHeight}</label>
<input id="max_height" name="max_height" type="number" min="1" max="${MAX_SIDE}" placeholder="${pixels}"></p>
<p class="check wide"><input id="keep" type="checkbox" name="strip_exif" value="false"><label for="keep">${words.keepMetadata}</label></p>
</div>
</details>`;
}
