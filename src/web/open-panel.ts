import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';
import type { Words } from './words/en.ts';

/** What a server can leave open to everyone. */
export type Door = keyof Words['openPanel']['doors'];

export interface OpenDoor {
  door: Door;
  /** The line for `.env` that closes it. */
  setting: string;
}

/** Renders the panel for the operator; `null` if nothing is open, or everything open was hidden. */
export function openPanel(site: Site, doors: readonly OpenDoor[], hidden: readonly string[]): Html | null {
  if (doors.every(({ door }) => hidden.includes(door))) return null;
  const { openPanel: words, frame } = site.words;
  const rows = doors.map(
    ({ door, setting }) => html`<li><p>${words.doors[door]}</p>
<div class="code"><pre tabindex="0" aria-label="${words.setting}"><code id="open-${door}">${setting}</code></pre><button class="copy needs-script" type="button" data-copy-from="open-${door}" aria-label="${frame.copyWhat(words.setting)}">${icon('copy')}<span>${frame.copy}</span></button></div></li>\n`,
  );
  return html`<section class="open-panel" id="open-panel" aria-labelledby="open-panel-title">
<h2 id="open-panel-title">${words.title}</h2>
<p class="muted">${words.lead}</p>
<ul>
${rows}</ul>
<form method="post" action="${site.path}/preferences"><button class="quiet" name="hidden" value="${doors.map(({ door }) => door).join('.')}">${words.hide}</button></form>
</section>
`;
}
