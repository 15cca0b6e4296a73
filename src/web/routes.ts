import { AppError } from '../errors.ts';
import type { Finding } from '../findings/finding.ts';
import { type Call, form, type Route, route } from '../http/route.ts';
import type { Assets } from './assets.ts';
import { type Html, html } from './html.ts';
import { pageResponse, seeOther } from './page-response.ts';
import { PREFERENCES_VARY, preferenceCookies } from './preferences.ts';
import type { Site, SiteOf } from './site.ts';
import { codeBlock } from './snippet.ts';

/** What one service shows on the home page. */
export interface HomeSection {
  content: Html;
  /** Scripts of `src/web/client`. */
  scripts: readonly string[];
  /** One sentence, for search engines. */
  summary: string;
}

export interface WebRoutesOptions {
  siteOf: SiteOf;
  /** Path under which browsers reach the server: empty, or that of `PUBLIC_URL`, such as `/pics`. */
  path: string;
  assets: Assets;
  /** Returns what the settings leave open to everyone, for the operator. */
  openFindings: () => Finding[];
  /** Path of the first entry of the navigation. */
  first: string;
  /** What the services show on the home page, in this order. */
  sections: readonly ((site: Site, request: Request) => Promise<HomeSection>)[];
  /** Path that accepts pictures shared with the installed app; `null` if there is none. */
  shareTo: string | null;
}

/** Routes that belong to no single service: the home page, and the files that pages load. */
export function webRoutes(web: WebRoutesOptions): Route[] {
  return [
    route('GET /', (call) => showHome(web, call)),
    route('GET /assets/:version/:file', ({ request, params }) =>
      asset(web, request, params.file, params.version),
    ),
    route('POST /preferences', (call) => keepPreferences(web, call), { body: form, evenBlocked: true }),
    route('GET /robots.txt', () => robots(web)),
    route('GET /manifest.webmanifest', (call) => manifest(web, call)),
    route('GET /favicon.ico', ({ request }) => asset(web, request, 'favicon.svg', '')),
  ];
}

/** Shows the home page and, to visitors on this machine, what the settings leave open. */
async function showHome(web: WebRoutesOptions, { request, context }: Call): Promise<Response> {
  // Of `Response.redirect`, Deno lets nobody change the headers.
  if (web.sections.length === 0)
    return new Response(null, { status: 302, headers: { location: context.origin + web.first } });
  const site = web.siteOf(request);
  const sections = await Promise.all(web.sections.map((section) => section(site, request)));
  const page = site.render({
    title: 'picpool',
    current: `${site.path}/`,
    summary: sections.map(({ summary }) => summary).join(' '),
    scripts: [...new Set(['copy.js', ...sections.flatMap(({ scripts }) => scripts)])],
    content: html`${sections.map(({ content }) => content)}${context.direct && openPanel(site, web.openFindings())}`,
  });
  return pageResponse(site, page, {
    cache: context.direct ? 'no-store' : 'no-cache',
    // The token that the panel suggests is a new one each time, so that sizes tell nothing about it.
    compressFor: request,
  });
}

function asset({ assets }: WebRoutesOptions, { headers }: Request, file: string, version: string): Response {
  const answer = assets.respond(file, version, headers.get('accept-encoding'));
  if (answer === null) throw new AppError('not_found', 'There is nothing at this path.');
  return answer;
}

/** Stores the language from the form at the end of each page, and redirects back to that page. */
function keepPreferences({ path }: WebRoutesOptions, call: Call<{ body: URLSearchParams }>): Response {
  const { request, body, context } = call;
  const cookies = preferenceCookies(body, path, context.origin.startsWith('https:'));
  return seeOther(
    pageBefore(request, context.origin) ?? `${path}/`,
    cookies.map((cookie) => ['set-cookie', cookie]),
  );
}

/** Pages that must not be indexed say so themselves, which search engines can only read if they may fetch them. */
function robots({ path }: WebRoutesOptions): Response {
  return new Response(`User-agent: *\nDisallow: ${path}/api/\n`, {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'public, max-age=3600' },
  });
}

/** Describes the app that browsers install. */
function manifest({ siteOf, path, assets, shareTo }: WebRoutesOptions, { request }: Call): Response {
  const described = webManifest(siteOf(request), { fileUrl: (file) => path + assets.url(file), shareTo });
  return Response.json(described, {
    headers: {
      'content-type': 'application/manifest+json',
      'cache-control': 'no-cache',
      vary: PREFERENCES_VARY,
    },
  });
}

/**
 * Where pages are that only answer a form; a deletion has the path of its question. A path with two slashes, which has an
 * error page, would lead to another host.
 */
const ANSWERS = /^\/\/|\/(api\/.*|share|proxies\/test|answer|view|act|login|logout|preview|revoke)$/;

/** Returns our page from which a form was sent; `null` if it is unknown, or was itself the answer to a form. */
function pageBefore(request: Request, origin: string): string | null {
  const referrer = request.headers.get('referer');
  if (referrer === null || !URL.canParse(referrer)) return null;
  const page = new URL(referrer);
  const isAnswer = ANSWERS.test(page.pathname) || page.search === '?deleted';
  return page.origin === origin && !isAnswer ? page.pathname + page.search : null;
}

interface ManifestOptions {
  /** Returns the path of a file of `src/web/client`. */
  fileUrl: (file: string) => string;
  /** Path that accepts pictures shared from the system's menu; `null` if there is none. */
  shareTo: string | null;
}

const ACCENT = '#00686f';
const PAGE = '#faf7f0';

/**
 * Returns how browsers install the site as an app (Web Application Manifest, with `share_target` of its Web Share
 * Target draft).
 */
function webManifest(site: Site, { fileUrl, shareTo }: ManifestOptions): object {
  const home = `${site.path}/`;
  const png = (file: string, size: number, purpose: 'any' | 'maskable') => ({
    src: fileUrl(file),
    sizes: `${size}x${size}`,
    type: 'image/png',
    purpose,
  });
  return {
    id: home,
    name: 'picpool',
    short_name: 'picpool',
    description: site.words.upload.summary,
    lang: site.language,
    start_url: home,
    scope: home,
    display: 'standalone',
    theme_color: ACCENT,
    background_color: PAGE,
    icons: [
      png('icon-192.png', 192, 'any'),
      png('icon-512.png', 512, 'any'),
      png('icon-maskable-512.png', 512, 'maskable'),
    ],
    ...(shareTo !== null && {
      share_target: {
        action: shareTo,
        method: 'POST',
        enctype: 'multipart/form-data',
        params: { files: [{ name: 'image', accept: ['image/*'] }] },
      },
    }),
  };
}

/** Renders what the settings leave open, and the lines for `.env` that close it; nothing if nothing is open. */
function openPanel(site: Site, findings: readonly Finding[]): Html | null {
  if (findings.length === 0) return null;
  const { openPanel: words } = site.words;
  const items: Partial<Record<string, string>> = words.items;
  const rows = findings.map(
    ({ about = '', text, advice }) => html`<li><p>${items[about] ?? text}</p>
${codeBlock(site, `open-${about}`, words.setting, advice ?? '')}</li>\n`,
  );
  return html`<details class="card open-panel"><summary>${words.title}</summary>
<p class="muted">${words.lead}</p>
<ul>
${rows}</ul>
</details>
`;
}
