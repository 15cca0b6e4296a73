import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { readForm } from '../http/read-form.ts';
import type { ContextOf } from '../http/request-context.ts';
import type { Assets } from './assets.ts';
import { type HomeSection, homePage } from './home-page.ts';
import { webManifest } from './manifest.ts';
import { offlinePage } from './offline-page.ts';
import { type OpenDoor, openPanel } from './open-panel.ts';
import { pageResponse } from './page-response.ts';
import { hiddenDoors, PREFERENCES_VARY, preferenceCookies } from './preferences.ts';
import type { Site, SiteOf } from './site.ts';

function textResponse(text: string): Response {
  return new Response(text, {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'public, max-age=3600' },
  });
}

export interface WebRoutesOptions {
  siteOf: SiteOf;
  path: string;
  assets: Assets;
  /** Returns what the settings leave open to everyone, for the operator. */
  openDoors: () => OpenDoor[];
  /** What the services show on the home page, in this order. */
  sections: readonly ((site: Site, request: Request) => Promise<HomeSection>)[];
  contextOf: ContextOf;
  /** Path that accepts pictures shared with the installed app; `null` if there is none. */
  shareTo: string | null;
}

const hide = { detail: { hide: true } };

/** Routes that belong to no single service: the home page, and the files that pages load. */
export function webRoutes({
  siteOf,
  path,
  assets,
  openDoors,
  sections,
  contextOf,
  shareTo,
}: WebRoutesOptions) {
  function asset(request: Request, file: string, version: string): Response {
    const answer = assets.respond(file, version, request.headers.get('accept-encoding'));
    if (answer === null) throw new AppError('not_found', 'There is nothing at this path.');
    return answer;
  }

  /** Stores the theme or language from the form at the end of each page, and redirects back to that page. */
  async function keepPreferences(request: Request): Promise<Response> {
    const { origin } = contextOf(request);
    const cookies = preferenceCookies(await readForm(request), path, origin.startsWith('https:'));
    return new Response(null, {
      status: 303,
      headers: [
        ['location', pageBefore(request, origin) ?? `${path}/`],
        ['cache-control', 'no-store'],
        ...cookies.map((cookie): [string, string] => ['set-cookie', cookie]),
      ],
    });
  }

  return (
    new Elysia()
      .get(
        '/',
        async ({ request }) => {
          const site = siteOf(request);
          const shown = await Promise.all(sections.map((section) => section(site, request)));
          const { admin, direct } = contextOf(request);
          const panel = admin || direct ? openPanel(site, openDoors(), hiddenDoors(request)) : null;
          return pageResponse(site, homePage(site, shown, panel), {
            ...(panel === null ? { cache: 'no-cache', compressFor: request } : { cache: 'no-store' }),
          });
        },
        hide,
      )
      .get(
        '/assets/:version/:file',
        ({ request, params }) => asset(request, params.file, params.version),
        hide,
      )
      .post('/preferences', ({ request }) => keepPreferences(request), { parse: 'none', ...hide })
      // Pages that must not be indexed say so themselves, which search engines can only read if they may fetch them.
      .get('/robots.txt', () => textResponse(`User-agent: *\nDisallow: ${path}/api/\n`), hide)
      .get(
        '/manifest.webmanifest',
        ({ request }) => {
          const manifest = webManifest(siteOf(request), {
            fileUrl: (file) => path + assets.url(file),
            shareTo,
          });
          return Response.json(manifest, {
            headers: {
              'content-type': 'application/manifest+json',
              'cache-control': 'no-cache',
              vary: PREFERENCES_VARY,
            },
          });
        },
        hide,
      )
      // At the root of the site, because a service worker only controls paths below its own.
      .get('/service-worker.js', ({ request }) => asset(request, 'service-worker.js', ''), hide)
      .get(
        '/offline',
        ({ request }) => {
          const site = siteOf(request);
          return pageResponse(site, offlinePage(site), { cache: 'no-cache' });
        },
        hide,
      )
      .get('/favicon.ico', ({ request }) => asset(request, 'favicon.svg', ''), hide)
  );
}

/** Returns our page from which a form was sent; `null` if it is unknown, or was itself the answer to a form. */
function pageBefore(request: Request, origin: string): string | null {
  const referrer = request.headers.get('referer');
  if (referrer === null || !URL.canParse(referrer)) return null;
  const page = new URL(referrer);
  return page.origin === origin && !page.pathname.includes('/api/') ? page.pathname + page.search : null;
}
