import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** What one service shows on the home page. */
export interface HomeSection {
  content: Html;
  /** Scripts of `src/web/client`. */
  scripts: readonly string[];
  /** One sentence, for search engines. */
  summary: string;
}

/** Renders the home page: what this server is, and each service that it offers; `panel` is for the operator. */
export function homePage(site: Site, sections: readonly HomeSection[], panel: Html | null): string {
  return site.render({
    title: 'picpool',
    current: `${site.path}/`,
    summary: sections.map(({ summary }) => summary).join(' '),
    scripts: [...new Set(['copy.js', 'open-panel.js', ...sections.flatMap(({ scripts }) => scripts)])],
    content: html`${sections.map(({ content }) => content)}${panel}`,
  });
}
