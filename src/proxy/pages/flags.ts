import { readFile } from 'node:fs/promises';
import { assetPath } from '../../assets.ts';
import { type Html, html } from '../../web/html.ts';

const FLAG = /^\.flag\\:([A-Z]{2})\{background-image:url\("data:image\/svg\+xml,(.*?)"\)\}/gm;
const VIEW_BOX = '0 0 513 342';

/** Reads the flags of the package `country-flag-icons`, a style sheet in which each is an image. */
export async function readFlags() {
  const sheet = await readFile(assetPath('country-flag-icons/3x2/flags.css'), 'utf8');
  const drawings = new Map(
    [...sheet.matchAll(FLAG)].flatMap(([, code = '', image = '']): [string, string][] => {
      const drawing = /<svg[^>]*>(.*)<\/svg>/.exec(decodeURIComponent(image))?.[1];
      return drawing === undefined ? [] : [[code, drawing]];
    }),
  );
  return {
    /** Returns the hidden outlines that `flag` uses, needed once on a page. */
    outlines(codes: Iterable<string>): Html {
      const symbols = [...new Set(codes)].map((code) => {
        const drawing = drawings.get(code);
        // Safe, because it comes from a pinned package and not from a visitor.
        return {
          markup: drawing ? `<symbol id="flag-${code}" viewBox="${VIEW_BOX}">${drawing}</symbol>` : '',
        };
      });
      return html`<svg class="outlines" aria-hidden="true">${symbols}</svg>`;
    },
  };
}

/** Drawn flags of countries, because Windows has no emoji for them. */
export type Flags = Awaited<ReturnType<typeof readFlags>>;

/** Returns the flag of a country, to show beside its name. */
export function flag(code: string): Html {
  return html`<svg class="flag" aria-hidden="true"><use href="#flag-${code}"/></svg>`;
}
