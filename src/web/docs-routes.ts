import { type Call, type Route, route } from '../http/route.ts';
import type { ApiDescription } from './api-description.ts';
import { docsPage } from './docs-page.ts';
import { pageResponse } from './page-response.ts';
import type { SiteOf } from './site.ts';

type Describe = () => Promise<object>;

export function docsRoutes(siteOf: SiteOf, describe: Describe): Route[] {
  return [route('GET /docs', (call) => showDocs(siteOf, describe, call))];
}

/** Shows the API description as a page whose examples run against this server. */
async function showDocs(siteOf: SiteOf, describe: Describe, { request, context }: Call): Promise<Response> {
  const site = siteOf(request);
  const page = docsPage(site, (await describe()) as ApiDescription, context.origin);
  return pageResponse(site, page, { cache: 'no-cache', compressFor: request });
}
