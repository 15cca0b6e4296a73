import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import type { Assets } from './assets.ts';
import { type HomeSection, homePage } from './home-page.ts';
import { pageResponse } from './page-response.ts';
import type { Site } from './site.ts';

function textResponse(text: string): Response {
  return new Response(text, {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'public, max-age=3600' },
  });
}

export interface WebRoutesOptions {
  site: Site;
  assets: Assets;
  /** What the services show on the first page, in this order. */
  sections: readonly ((request: Request) => Promise<HomeSection>)[];
}

const hide = { detail: { hide: true } };

/** What belongs to no single service: the first page, and the files that pages load. */
export function webRoutes({ site, assets, sections }: WebRoutesOptions) {
  function asset(request: Request, file: string, version: string): Response {
    const answer = assets.respond(file, version, request.headers.get('accept-encoding'));
    if (answer === null) throw new AppError('not_found', 'There is nothing at this path.');
    return answer;
  }

  return (
    new Elysia()
      .get(
        '/',
        async ({ request }) => {
          const shown = await Promise.all(sections.map((section) => section(request)));
          return pageResponse(homePage(site, shown), { cache: 'no-cache' });
        },
        hide,
      )
      .get(
        '/assets/:version/:file',
        ({ request, params }) => asset(request, params.file, params.version),
        hide,
      )
      // Pages that are not to be found say so themselves, which only who may read them learns.
      .get('/robots.txt', () => textResponse(`User-agent: *\nDisallow: ${site.path}/api/\n`), hide)
      .get('/favicon.ico', ({ request }) => asset(request, 'favicon.svg', ''), hide)
  );
}
