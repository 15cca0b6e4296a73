import type { Assets } from './assets.ts';
import { type Html, html, jsonElement } from './html.ts';
import { logo } from './icons.ts';
import { languageOf } from './preferences.ts';
import { LANGUAGE_TAGS, LANGUAGES, type Language } from './words/languages.ts';
import type { Words } from './words/words.ts';

/** An entry of the navigation. */
export interface NavLink {
  href: string;
  name: keyof Words['frame']['nav'];
}

export interface PageOptions {
  title: string;
  /** More elements of the head. */
  head?: Html;
  /** For search engines, which must not index pages without one. */
  summary?: string;
  /** Modules of `src/web/client`, such as `upload.js`, and those they import. Their texts are sent with the page. */
  scripts?: readonly string[];
  /** `href` of this page's entry in the navigation. */
  current?: string;
  content: Html;
}

/** Returns the site in the language of the visitor behind a request. */
export type SiteOf = (request: Request) => Site;

interface SiteOptions {
  assets: Pick<Assets, 'url' | 'imports' | 'styles'>;
  links: readonly NavLink[];
  version: string;
  /** See `Site`. */
  path: string;
  /** Path of the page about programs that upload, if there is one. */
  integrations?: string | undefined;
  /** Mail address or URL to report abuse to. */
  abuseContact?: string | undefined;
}

export function createSites(options: SiteOptions): SiteOf {
  return (request) => createSite(options, languageOf(request));
}

export function createSite(
  { assets, links, version, path, integrations, abuseContact }: SiteOptions,
  language: Language,
) {
  const { words } = LANGUAGES[language];
  const { frame } = words;
  const nav = (current: string | undefined) =>
    links.map(
      ({ href, name }) =>
        html`<li><a href="${href}"${href === current && html` aria-current="page"`}>${frame.nav[name]}</a></li>`,
    );
  const fileUrl = (file: string) => path + assets.url(file);

  return {
    version,
    /** Path under which browsers reach the server: empty, or that of `PUBLIC_URL`, such as `/pics`. */
    path,
    language,
    words,
    formats: words.formats,
    render: ({ title, head, summary, scripts = [], current, content }: PageOptions) =>
      html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${THEME_COLORS.light}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${THEME_COLORS.dark}" media="(prefers-color-scheme: dark)">
<title>${title === 'picpool' ? title : `${title} · picpool`}</title>
${summary === undefined ? html`<meta name="robots" content="noindex">` : html`<meta name="description" content="${summary}">`}
<link rel="icon" href="${fileUrl('favicon.svg')}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${fileUrl('icon-maskable-512.png')}">
<link rel="manifest" href="${path}/manifest.webmanifest" crossorigin="use-credentials">
${assets.styles(scripts).map((file) => html`<link rel="stylesheet" href="${fileUrl(file)}">\n`)}${language === 'en' && html`<link rel="preload" href="${fileUrl('display.woff2')}" as="font" type="font/woff2" crossorigin>\n`}${scripts.map((file) => html`<script type="module" src="${fileUrl(file)}"></script>\n`)}${assets.imports(scripts).map((file) => html`<link rel="modulepreload" href="${fileUrl(file)}">\n`)}${jsonElement('words', wordsOf(words, [...scripts, ...assets.imports(scripts)]))}
${head ?? null}
</head>
<body>
<a class="skip" href="#main">${frame.skip}</a>
<header class="site-header">
<a class="brand" href="${path}/">${logo}<span>picpool</span></a>
<nav aria-label="${frame.mainNavigation}"><ul>${nav(current)}</ul></nav>
</header>
<main id="main" tabindex="-1">
${content}
</main>
<footer class="site-footer">
<p>${frame.version(version)}<span${scripts.includes(LOCAL_TIMES) && html` class="without-script"`}> · ${frame.utc}</span></p>
<p><a href="${path}/openapi.json">${frame.openapi}</a></p>
${integrations !== undefined && html`<p><a href="${integrations}">${frame.integrations}</a></p>`}
${abuseContact !== undefined && html`<p><a href="${path}/contact">${frame.reportAbuse}</a></p>`}
${languageForm(`${path}/preferences`, words, language)}
</footer>
<p id="announcer" class="visually-hidden" role="status"></p>
</body>
</html>
`.markup,
  };
}

/** What surrounds all pages of one visitor, and what they are rendered with. */
export type Site = ReturnType<typeof createSite>;

/** Shows times as the visitor counts them. */
const LOCAL_TIMES = 'image.js';

/** What the browser paints before and around the page. */
const THEME_COLORS = { light: '#faf7f0', dark: '#0a181d' };

function languageForm(action: string, { frame }: Words, chosen: Language): Html {
  return html`<form class="preferences" method="post" action="${action}">
<div role="group" aria-label="${frame.language}">${LANGUAGE_TAGS.map((tag) => html`<button class="choice" name="language" value="${tag}" aria-pressed="${String(tag === chosen)}" lang="${tag}">${LANGUAGES[tag].name}</button>`)}</div>
</form>`;
}

/** Returns the texts of a page's scripts. */
function wordsOf({ scripts }: Words, files: readonly string[]): object {
  const byFile: Record<string, object> = scripts;
  return Object.assign({}, scripts.every, ...files.map((file) => byFile[file]));
}

/** Returns a contact, a mail address or URL, as a link. */
export function contactUrl(contact: string): string {
  return contact.includes('://') ? contact : `mailto:${contact}`;
}
