import { fileURLToPath } from 'node:url';

/**
 * Files that are read unchanged: data of packages, and files for browsers. `scripts/build.ts` embeds each in the
 * binary.
 */
export const ASSETS = [
  '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb',
  'country-flag-icons/3x2/flags.css',
  // By path, because a sandboxed Bun cannot resolve the name that the package gives it.
  '../node_modules/jxl-oxide-wasm/jxl_oxide_wasm_bg.wasm',
  'libheif-js/libheif-wasm/libheif.wasm',
  // The parts of the style sheet of all pages, in order, and those of single pages.
  './web/client/base.css',
  './web/client/layout.css',
  './web/client/blocks.css',
  './web/client/images.css',
  './web/client/pool.css',
  './web/client/admin.css',
  './web/client/admin.js',
  './web/client/album-edit.js',
  './web/client/album.js',
  './web/client/changing.js',
  './web/client/copy.js',
  './web/client/display.woff2',
  './web/client/docs.css',
  './web/client/docs.js',
  './web/client/dom.js',
  './web/client/faults.js',
  './web/client/favicon.svg',
  './web/client/gallery.js',
  './web/client/icon-192.png',
  './web/client/icon-512.png',
  './web/client/icon-maskable-512.png',
  './web/client/image.js',
  './web/client/integrations.js',
  './web/client/kept.js',
  './web/client/link-forms.js',
  './web/client/manage.js',
  './web/client/mine-list.js',
  './web/client/mine.js',
  './web/client/move.js',
  './web/client/live.js',
  './web/client/page-parts.js',
  './web/client/proxies.css',
  './web/client/proxies.js',
  './web/client/readable-bytes.js',
  './web/client/results.js',
  './web/client/sending.js',
  './web/client/selection.js',
  './web/client/share.js',
  './web/client/ticks.js',
  './web/client/undo.js',
  './web/client/upload-card.js',
  './web/client/upload-list.js',
  './web/client/upload.js',
] as const;

type AssetName = (typeof ASSETS)[number];

/**
 * Returns the path of an asset for `node:fs`. The build replaces this module with one for the paths in the binary.
 */
export function assetPath(name: AssetName): string {
  return fileURLToPath(import.meta.resolve(name));
}
