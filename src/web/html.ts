import { escapeHtml } from '../lib/escape-html.ts';

/** Markup that is safe to send. Only `html` creates it. */
export interface Html {
  readonly markup: string;
}

type Part = Html | readonly Html[] | string | number | null | undefined | false;

/**
 * Template tag that escapes every value unless it is markup itself. `null`, `undefined` and `false` produce nothing.
 * Attributes need double quotes.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  const markup = strings.reduce((text, string, index) => text + render(parts[index - 1] ?? null) + string);
  return { markup };
}

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
}

/** Embeds data for the scripts of a page. Browsers never run it, so the policy allows it. */
export function jsonElement(id: string, value: object): Html {
  const json = JSON.stringify(value).replaceAll('<', '\\u003c');
  return { markup: `<script type="application/json" id="${escapeHtml(id)}">${json}</script>` };
}
