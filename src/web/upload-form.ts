import { readableBytes } from '../lib/readable-bytes.ts';
import { type Tile, tileGrid } from './gallery-page.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

export interface UploadForm {
  basePath: string;
  maxUploadBytes: number;
  /** True where only holders of tokens may upload. */
  needsToken: boolean;
  /** Formats that may be uploaded, in words. */
  accepted: string;
  /** Formats to choose from, besides `auto`. */
  formats: readonly string[];
  /** Images that nobody opens for so long are removed. */
  retentionDays: number;
  /** What pictures are that nothing is said of; `off`: they cannot be public. */
  listing: 'public' | 'unlisted' | 'off';
  latest: readonly Tile[];
  /** What the store said where it does not answer. */
  fault: string | null;
}

/** The image host on the first page: a place to drop pictures on, what this browser has uploaded, the latest ones. */
export function uploadSection(_site: Site, form: UploadForm): Html {
  const { basePath, maxUploadBytes, needsToken, accepted, formats, retentionDays, latest, fault, listing } =
    form;
  return html`<section class="hero" aria-labelledby="upload-title">
<div class="pitch">
<h1 id="upload-title">Drop a picture, get a link.</h1>
<p class="lead">Smaller, the right way up, and without the data that give you away.</p>
<ul class="promises">
<li>${icon('check')}Place, time and camera are taken out</li>
<li>${icon('check')}Links for chats, Markdown, HTML and forums</li>
<li>${icon('check')}Public, or behind a password of yours</li>
<li>${icon('check')}Deleted when you say so, without an account</li>
</ul>
</div>
<form id="upload" class="upload" method="post" enctype="multipart/form-data" action="${basePath}/api/upload" data-max-bytes="${maxUploadBytes}" data-pages="${basePath}/i/">
<div class="dropzone">
<input class="visually-hidden" id="file" type="file" name="image" multiple required accept="image/jpeg,image/png,image/webp,image/gif,image/avif,image/heic,image/heif,image/tiff,image/jxl,image/bmp,image/x-icon" aria-describedby="file-hint">
<label for="file">${icon('upload')}<span class="dropzone-action">Choose pictures</span><span class="needs-script">or drop them here, or <span class="keys">paste with <kbd>Ctrl</kbd> <kbd>V</kbd></span></span></label>
<p class="small muted" id="file-hint">${accepted}, up to ${readableBytes(maxUploadBytes)} each. Kept until nobody has opened them for ${Math.round(retentionDays)} days.</p>
<noscript><p class="no-script-file">The chosen files are sent by this button.</p><button type="submit">Upload</button></noscript>
</div>
${audience(listing)}
${needsToken && html`<p class="fields needs-script"><label for="token">Token</label> <input id="token" type="password" autocomplete="off" placeholder="Only holders of a token may upload here"></p>`}
${options(formats)}
</form>
<ul class="cards" id="cards" aria-label="Uploads"></ul>
</section>
${fault !== null && html`<p class="banner bad" role="alert">${icon('warning')}${fault}</p>`}
${
  latest.length > 0 &&
  html`<section aria-labelledby="latest">
<header class="section-head"><h2 id="latest">Latest pictures</h2><a href="${basePath}/gallery">All public pictures</a></header>
${tileGrid(latest, basePath, 'below')}</section>`
}
<section id="mine" aria-labelledby="mine-title" hidden>
<header class="section-head"><h2 id="mine-title">From this browser</h2><button class="quiet small" type="button" id="forget">Forget this list</button></header>
<p class="small muted">Only this browser knows this list, and the tokens that delete.</p>
<ul class="mine" id="mine-list"></ul>
</section>`;
}

/** Who will see the picture, in plain words, beside the button. */
function audience(listing: UploadForm['listing']): Html {
  const others = listing === 'off' ? ['protected'] : ['public', 'unlisted', 'protected'];
  const usual = listing === 'public' ? 'public' : 'unlisted';
  const choices = others.filter((other) => other !== usual);
  return html`<div class="fields">
<p><label for="visibility">Who sees it</label>
<select id="visibility" name="visibility"><option value="">${SEEN_BY[usual]}</option>${choices.map((one) => html`<option value="${one}">${SEEN_BY[one]}</option>`)}</select></p>
<p><label for="password">Password</label>
<input id="password" type="password" name="password" autocomplete="new-password" maxlength="256" placeholder="none"></p>
</div>`;
}

const SEEN_BY: Record<string, string> = {
  public: 'Everybody: it is shown in the gallery',
  unlisted: 'Only who has the link',
  protected: 'Only who has the link and the password',
};

const EXPIRIES = [
  ['1h', 'An hour'],
  ['1d', 'A day'],
  ['1w', 'A week'],
  ['30d', '30 days'],
  ['1y', 'A year'],
] as const;

function options(formats: readonly string[]): Html {
  return html`<details class="options">
<summary>${icon('options')}Options</summary>
<div class="fields">
<p><label for="format">Format</label>
<select id="format" name="format">${formats.map((format) => html`<option value="${format}">${FORMAT_WORDS[format] ?? format}</option>`)}<option value="auto">As uploaded</option></select></p>
<p><label for="max_width">Widest</label>
<input id="max_width" name="max_width" inputmode="numeric" pattern="[0-9]*" placeholder="4096 pixels"></p>
<p><label for="max_height">Highest</label>
<input id="max_height" name="max_height" inputmode="numeric" pattern="[0-9]*" placeholder="4096 pixels"></p>
<p><label for="expires_in">Kept</label>
<select id="expires_in" name="expires_in"><option value="">As long as somebody opens it</option>${EXPIRIES.map(([value, words]) => html`<option value="${value}">${words}</option>`)}</select></p>
<p><label for="max_views">Shown</label>
<input id="max_views" name="max_views" inputmode="numeric" pattern="[0-9]*" placeholder="any number of times"></p>
<p class="check"><input id="keep" type="checkbox" name="strip_exif" value="false"><label for="keep">Keep EXIF: place, time and camera</label></p>
</div>
</details>`;
}

const FORMAT_WORDS: Record<string, string> = {
  webp: 'WebP: small, everywhere',
  jpeg: 'JPEG',
  png: 'PNG: exact',
  avif: 'AVIF: smallest, slow',
  gif: 'GIF',
};
