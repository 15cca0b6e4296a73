import { readFile } from 'node:fs/promises';
import { assetPath } from '../assets.ts';
import { type Html, html } from './html.ts';

/** The flags of countries, drawn: Windows has no letters for them. */
export interface Flags {
  /** The outlines that `flag` uses, hidden; needed once on a page. */
  outlines(codes: Iterable<string>): Html;
}

const FLAG = /^\.flag\\:([A-Z]{2})\{background-image:url\("data:image\/svg\+xml,(.*?)"\)\}/gm;
const VIEW_BOX = '0 0 513 342';

/** Reads the flags of the package `country-flag-icons`, a style sheet with each as an image in it. */
export async function readFlags(): Promise<Flags> {
  const sheet = await readFile(assetPath('country-flag-icons/3x2/flags.css'), 'utf8');
  const drawings = new Map(
    [...sheet.matchAll(FLAG)].flatMap(([, code = '', image = '']): [string, string][] => {
      const drawing = /<svg[^>]*>(.*)<\/svg>/.exec(decodeURIComponent(image))?.[1];
      return drawing === undefined ? [] : [[code, drawing]];
    }),
  );
  return {
    outlines(codes) {
      const symbols = [...new Set(codes)].map((code) => {
        const drawing = drawings.get(code);
        // From a package that is pinned, and not from a visitor.
        return {
          markup: drawing ? `<symbol id="flag-${code}" viewBox="${VIEW_BOX}">${drawing}</symbol>` : '',
        };
      });
      return html`<svg class="outlines" aria-hidden="true">${symbols}</svg>`;
    },
  };
}

/** The flag of a country, beside its name. */
export function flag(code: string): Html {
  return html`<svg class="flag" aria-hidden="true"><use href="#flag-${code}"/></svg>`;
}
