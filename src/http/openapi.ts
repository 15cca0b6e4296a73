import { type TSchema, Type } from '@sinclair/typebox';
import { ISSUED_TOKEN, type NeededTokens, operationOf, schemeOf } from './describe.ts';
import type { Route } from './route.ts';

interface DescribeOptions {
  version: string;
  serverUrl: string;
  neededBy: (route: Route) => NeededTokens;
}

/** Returns the OpenAPI document of the routes. Named schemas appear once. */
export function describeApi(
  routes: readonly Route[],
  { version, serverUrl, neededBy }: DescribeOptions,
): object {
  const tokens = new Set<string>();
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const { about, body } = route;
    if (!about) continue;
    const needed = neededBy(route);
    for (const name of needed.names) tokens.add(name);
    // Unknown names are refused.
    const schema = body?.schema && { additionalProperties: false, ...body.schema };
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = {
      ...operationOf(about, needed),
      parameters: [...parametersOf(route), ...(about.parameters ?? [])],
      ...(schema && { requestBody: { required: true, content: { 'application/json': { schema } } } }),
    };
  }
  // A copy without what is not JSON.
  const described = JSON.parse(JSON.stringify(paths)) as object;
  return {
    // TypeBox writes JSON Schema as in OpenAPI 3.1: `const`, `patternProperties`, `type: null`.
    openapi: '3.1.0',
    info: {
      title: 'picpool',
      description: 'A pool of tested free proxies and an image host.',
      version,
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
    components: {
      schemas: hoist(described),
      securitySchemes: Object.fromEntries([...tokens].map((name) => [schemeOf(name), bearer(name)])),
    },
    paths: described,
  };
}

function parametersOf({ path, params, query }: Route): object[] {
  const named = (place: string, schemas: Record<string, TSchema> = {}, required: readonly string[] = []) =>
    Object.entries(schemas).map(([name, { description, examples, ...schema }]) => ({
      ...{ description, examples, schema, in: place, name, required: required.includes(name) },
    }));
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const inPath = Object.fromEntries(names.map((name) => [name, Type.String()]));
  return [
    ...named('path', { ...inPath, ...params?.properties }, names),
    ...named('query', query?.properties, query?.required),
  ];
}

function bearer(name: string) {
  const description =
    name === ISSUED_TOKEN ? 'A token from the operator.' : `The value of the setting \`${name}\`.`;
  return { type: 'http', scheme: 'bearer', description };
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
