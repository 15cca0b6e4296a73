import { EXTENSIONS } from '../../codec/format.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { type ImageRecord, nameOf } from '../image.ts';
import { placeholderOf } from '../records/placeholder.ts';
import { pictureElement } from './page-parts.ts';

/** Offered by the server, and wide enough for a tile on any screen. */
const WIDTHS = [320, 640];
/** Aspect ratios of a tile. Beyond these, its picture has empty space around it. */
const RATIOS = { least: 0.5, most: 3 };
/** Height of a row on wide screens, and how much rows grow to fill the line (`images.css`), in rem. */
const ROW_REM = 14;
const USUAL_GROWTH = 1.2;
/** Number of rows that can be above the fold. */
const EAGER = 8;

/** Renders pictures in rows of equal height, each in its own proportions. Nothing moves while they load. */
export function pictureRows(
  { words }: Pick<Site, 'words'>,
  tiles: readonly ImageRecord[],
  basePath: string,
): Html {
  return html`<ul class="rows">
${tiles.map((tile, index) => tileOf(tile, basePath, index < EAGER, words.gallery.shareOf))}</ul>`;
}

function tileOf(tile: ImageRecord, basePath: string, eager: boolean, share: (name: string) => string): Html {
  const { id, format, width, height, frames } = tile;
  const path = `${basePath}/i/${id}`;
  const ratio = ratioOf(tile);
  const wide = Math.round(ratio * ROW_REM * USUAL_GROWTH);
  const widths = WIDTHS.filter((one) => one < width);
  const placeholder = placeholderOf(tile.thumbhash);
  const shown = { path: `${path}.${EXTENSIONS[format]}`, width, height, placeholder, widths };
  const shape = width / height < RATIOS.least ? ' tall' : widths.length === 0 && ' tiny';
  return html`<li data-id="${id}" data-ratio="${ratio.toFixed(3)}"><a class="shot${shape}" href="${path}">${pictureElement(
    shown,
    {
      alt: tile.alt ?? '',
      sizes: `(min-width: 40rem) ${wide}rem, ${Math.round(wide * 0.7)}rem`,
      eager,
    },
  )}<span class="shot-words"><b>${nameOf(tile)}</b> ${width} × ${height}</span>${frames > 1 && icon('play')}</a><button class="shot-share needs-script" type="button" aria-label="${share(nameOf(tile))}">${icon('share')}</button></li>
`;
}

function ratioOf({ width, height }: ImageRecord): number {
  return Math.min(RATIOS.most, Math.max(RATIOS.least, width / height));
}

/** Renders a small picture that links to its page, or to `page`. `eager`: it is visible at once. */
export function pictureTile(tile: ImageRecord, basePath: string, eager: boolean, page?: string): Html {
  const { id, format, width, height, frames } = tile;
  const path = `${basePath}/i/${id}`;
  const file = `${path}.${EXTENSIONS[format]}`;
  const isTiny = width / height >= RATIOS.least && WIDTHS.every((one) => one >= width);
  const versions = html` srcset="${file}?w=320 320w, ${file}?w=640 640w" sizes="(min-width: 40rem) 15rem, 45vw"`;
  return html`<li><a class="tile${isTiny && ' tiny'}" href="${page ?? path}">
<img src="${file}${!isTiny && '?w=320'}"${!isTiny && versions} width="${width}" height="${height}" alt="${tile.alt ?? ''}"${!eager && html` loading="lazy"`} decoding="async">
<span class="tile-name">${nameOf(tile)}</span>
<span class="tile-facts">${width} × ${height}${frames > 1 && icon('play')}</span>
</a></li>
`;
}
