import type { TSchema } from '@sinclair/typebox';
import type { Route } from './http/route.ts';
import type { HomeSection } from './web/routes.ts';
import type { Site } from './web/site.ts';

/** One of the two services, as the application mounts it. */
export interface Feature {
  name: string;
  /** Path under which its routes answer: empty, or `/proxy`. */
  basePath: string;
  routes: readonly Route[];
  /** Returns the answer of `GET /api/stats`; features with the same base path share the answer. */
  stats: () => Promise<object>;
  /** Schema and example of that answer. */
  statsAnswer: { schema: TSchema; example: object };
  /** What it shows on the home page. */
  home?: (site: Site, request: Request) => Promise<HomeSection>;
  /** Changes with the data of `stats`. Default: they are recounted every second. */
  version?: () => string | Promise<string>;
}
