import { Elysia } from 'elysia';
import type { ContextOf } from '../http/request-context.ts';
import type { ApiDescription } from './api-description.ts';
import { docsPage } from './docs-page.ts';
import { pageResponse } from './page-response.ts';
import type { SiteOf } from './site.ts';

/** Serves `/docs`, the API description as a page whose examples run against this server. */
export function docsRoutes(siteOf: SiteOf, description: () => Promise<object>, contextOf: ContextOf) {
  return new Elysia().get(
    '/docs',
    async ({ request }) => {
      const site = siteOf(request);
      const { origin } = contextOf(request);
      const page = docsPage(site, (await description()) as ApiDescription, origin);
      return pageResponse(site, page, { cache: 'no-cache', compressFor: request });
    },
    { detail: { hide: true } },
  );
}
