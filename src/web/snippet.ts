import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

/** Renders a text to copy: it can be selected without a script, and copied by a button with one. */
export function snippet(site: Site, id: string, label: string, text: string): Html {
  return html`<div class="snippet">
<label for="${id}">${label}</label>
<input id="${id}" readonly value="${text}">
${copyButton(site, id, label)}
</div>
`;
}

/** Renders code to copy. */
export function codeBlock(site: Site, id: string, label: string, code: string): Html {
  return html`<div class="code"><pre tabindex="0" aria-label="${label}"><code id="${id}">${code}</code></pre>${copyButton(site, id, label)}</div>`;
}

function copyButton({ words: { frame } }: Site, id: string, label: string): Html {
  return html`<button class="copy needs-script" type="button" data-copy-from="${id}" aria-label="${frame.copyWhat(label)}">${icon('copy')}<span>${frame.copy}</span></button>`;
}
