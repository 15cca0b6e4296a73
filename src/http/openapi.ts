import { swagger } from '@elysiajs/swagger';
import { Elysia } from 'elysia';
import { ISSUED_TOKEN, type NeededTokens, operationOf, schemeOf } from './describe.ts';
import type { Route } from './route.ts';

interface Document {
  [key: string]: unknown;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown>; [key: string]: unknown };
}

interface Operation {
  [key: string]: unknown;
  requestBody?: { content: Record<string, unknown> };
  parameters?: { schema: Record<string, unknown> }[];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const SPEC_PATH = '/description.json';

interface DescribeOptions {
  version: string;
  serverUrl: string;
  /** Returns of which tokens a route needs one. */
  neededBy: (route: Route) => NeededTokens;
}

/**
 * Returns the OpenAPI document of the routes. The plugin collects them, and this corrects what it cannot know: bodies
 * are only JSON, named schemas appear once, and there are tokens.
 */
export async function describeApi(
  routes: readonly Route[],
  { version, serverUrl, neededBy }: DescribeOptions,
): Promise<Document> {
  const described = new Elysia();
  const tokens = new Set<string>();
  for (const route of routes) {
    const { method, path, query, params, body, about } = route;
    if (!about) continue;
    const needed = neededBy(route);
    for (const name of needed.names) tokens.add(name);
    described.route(method, path, () => '', {
      ...(query && { query }),
      ...(params && { params }),
      ...(body?.schema && { body: body.schema }),
      detail: operationOf(about, needed),
    });
  }
  described.use(
    swagger({
      specPath: SPEC_PATH,
      path: '/unused',
      documentation: {
        info: {
          title: 'picpool',
          version,
          description: 'A pool of tested free proxies and an image host.',
          license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
        },
        servers: [{ url: serverUrl }],
        security: [],
        tags: [
          { name: 'Proxy pool', description: 'Free public proxies that passed a test.' },
          { name: 'Image host', description: 'Upload images and share links.' },
          { name: 'Server', description: 'Health and metrics of the server.' },
          { name: 'Administration', description: 'Needs `ADMIN_TOKEN`.' },
        ],
      },
      // `/sharex.sxcu` is not a static file, although its name has a dot.
      excludeStaticFile: false,
    }),
  );
  const answer = await described.handle(new Request(`http://localhost${SPEC_PATH}`));
  const document = (await answer.json()) as Document;
  for (const path of Object.values(document.paths)) {
    for (const method of METHODS) {
      const operation = path[method];
      if (operation) tidy(operation);
    }
  }
  // TypeBox writes JSON Schema as in OpenAPI 3.1: `const`, `patternProperties`, `type: null`.
  document.openapi = '3.1.0';
  document.components = {
    schemas: hoist(document.paths),
    securitySchemes: Object.fromEntries([...tokens].map((name) => [schemeOf(name), bearer(name)])),
  };
  return document;
}

function bearer(name: string) {
  const description =
    name === ISSUED_TOKEN ? 'A token from the operator.' : `The value of the setting \`${name}\`.`;
  return { type: 'http', scheme: 'bearer', description };
}

function tidy(operation: Operation): void {
  const json = operation.requestBody?.content['application/json'];
  if (operation.requestBody && json && 'multipart/form-data' in operation.requestBody.content) {
    const isGuessed = 'text/plain' in operation.requestBody.content;
    if (isGuessed) operation.requestBody.content = { 'application/json': json };
  }
}

/** Moves every schema with an `$id` out of the tree, leaving a reference, and returns them by name. */
function hoist(tree: object): Record<string, object> {
  const named: Record<string, object> = {};
  const visit = (node: unknown): unknown => {
    if (typeof node !== 'object' || node === null) return node;
    for (const [key, child] of Object.entries(node)) (node as Record<string, unknown>)[key] = visit(child);
    if (!('$id' in node)) return node;
    const { $id, ...schema } = node;
    named[String($id)] = schema;
    return { $ref: `#/components/schemas/${$id}` };
  };
  visit(tree);
  return named;
}
