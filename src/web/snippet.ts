import { type Html, html } from './html.ts';
import { icon } from './icons.ts';

/** A text to be copied: it can be selected without a script, and is copied by a button with one. */
export function snippet(id: string, label: string, text: string): Html {
  return html`<div class="snippet">
<label for="${id}">${label}</label>
<input id="${id}" readonly value="${text}">
<button class="copy needs-script" type="button" data-copy-from="${id}" aria-label="Copy ${label}">${icon('copy')}<span>Copy</span></button>
</div>
`;
}
