import { Elysia } from 'elysia';
import { type ApiDescription, docsPage } from './docs-page.ts';
import { pageResponse } from './page-response.ts';
import type { Site } from './site.ts';

/** `/docs`: the API description as a page whose examples run against this server. */
export function docsRoutes(site: Site, description: () => Promise<object>) {
  return new Elysia().get(
    '/docs',
    async ({ request }) => {
      const { origin } = new URL(request.url);
      const page = docsPage(site, (await description()) as ApiDescription, origin);
      return pageResponse(page, { cache: 'no-cache' });
    },
    { detail: { hide: true } },
  );
}
