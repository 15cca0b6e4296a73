import type { Assets } from './assets.ts';
import { type Html, html } from './html.ts';
import { logo } from './icons.ts';

/** An entry of the navigation. */
export interface NavLink {
  href: string;
  label: string;
}

export interface PageOptions {
  title: string;
  /** More elements of the head. */
  head?: Html;
  /** For search engines; pages without one are not to be found by them. */
  summary?: string;
  /** Modules of `src/web/client`, such as `upload.js`, and those they import. */
  scripts?: readonly string[];
  /** `href` of the entry of the navigation that this page is. */
  current?: string;
  content: Html;
}

/** What all pages have around them. */
export interface Site {
  readonly version: string;
  /** Path under which browsers reach the server: empty, or that of `PUBLIC_URL`, such as `/pics`. */
  readonly path: string;
  /** A whole page. */
  render(page: PageOptions): string;
}

export interface SiteOptions {
  assets: Pick<Assets, 'url'>;
  links: readonly NavLink[];
  version: string;
  /** See `Site`. */
  path: string;
  /** Mail address or URL to report abuse to. */
  abuseContact?: string | undefined;
}

export function createSite({ assets, links, version, path, abuseContact }: SiteOptions): Site {
  const nav = (current: string | undefined) =>
    links.map(
      ({ href, label }) =>
        html`<li><a href="${href}"${href === current && html` aria-current="page"`}>${label}</a></li>`,
    );

  const fileUrl = (file: string) => path + assets.url(file);

  return {
    version,
    path,
    render: ({ title, head, summary, scripts = [], current, content }) =>
      html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f6f8f8" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#0e1517" media="(prefers-color-scheme: dark)">
<title>${title === 'picpool' ? title : `${title} · picpool`}</title>
${summary === undefined ? html`<meta name="robots" content="noindex">` : html`<meta name="description" content="${summary}">`}
<link rel="icon" href="${fileUrl('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${fileUrl('style.css')}">
${scripts.map((file) => html`<script type="module" src="${fileUrl(file)}"></script>\n`)}${head ?? null}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="site-header">
<a class="brand" href="${path}/">${logo}<span>picpool</span></a>
<nav aria-label="Main"><ul>${nav(current)}</ul></nav>
</header>
<main id="main" tabindex="-1">
${content}
</main>
<footer class="site-footer">
<p>picpool ${version} · times are UTC</p>
<p><a href="${path}/openapi.json">OpenAPI</a></p>
${abuseContact !== undefined && html`<p><a href="${contactUrl(abuseContact)}">Report abuse</a></p>`}
</footer>
<p id="announcer" class="visually-hidden" role="status"></p>
</body>
</html>
`.markup,
  };
}

function contactUrl(contact: string): string {
  return contact.includes('://') ? contact : `mailto:${contact}`;
}
