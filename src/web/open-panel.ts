import type { Finding } from '../findings/finding.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

/**
 * Renders the panel for the operator: what the settings leave open, and the lines for `.env` that close it. Returns
 * `null` if nothing is open, or everything open was hidden.
 */
export function openPanel(site: Site, findings: readonly Finding[], hidden: readonly string[]): Html | null {
  if (findings.every(({ about = '' }) => hidden.includes(about))) return null;
  const { openPanel: words, frame } = site.words;
  const items: Partial<Record<string, string>> = words.items;
  const rows = findings.map(
    ({ about = '', text, advice }) => html`<li><p>${items[about] ?? text}</p>
<div class="code"><pre tabindex="0" aria-label="${words.setting}"><code id="open-${about}">${advice ?? ''}</code></pre><button class="copy needs-script" type="button" data-copy-from="open-${about}" aria-label="${frame.copyWhat(words.setting)}">${icon('copy')}<span>${frame.copy}</span></button></div></li>\n`,
  );
  return html`<section class="open-panel" id="open-panel" aria-labelledby="open-panel-title">
<h2 id="open-panel-title">${words.title}</h2>
<p class="muted">${words.lead}</p>
<ul>
${rows}</ul>
<form method="post" action="${site.path}/preferences"><button class="quiet" name="hidden" value="${findings.map(({ about }) => about).join('.')}">${words.hide}</button></form>
</section>
`;
}
