import { describe, expect, test } from 'bun:test';
import { Ajv } from 'ajv';
import { analyse } from 'scslre';
import { sample } from '../../src/web/api-description.ts';
import { json } from '../support/json.ts';
import { type RunningServer, runServer, withServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';

interface Media {
  schema: object;
  example?: unknown;
}

interface Operation {
  operationId: string;
  security?: Record<string, string[]>[];
  tags: string[];
  parameters: { in: string; name: string }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
}

interface Description {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { example?: unknown; examples?: unknown[] }> };
}

const server = shared(() => runServer({ ADMIN_TOKEN: 'the-administrator' }));
const read = async (path: string) => json<Description>(await server.send(path));
const operationsOf = ({ paths }: Description) => Object.values(paths).flatMap((path) => Object.values(path));

describe.each([
  ['/openapi.json', '3.1.0'],
  ['/openapi-3.0.json', '3.0.3'],
])('the description at %s', (path, version) => {
  test('says its version', async () => {
    expect((await read(path)).openapi).toBe(version);
  });

  test('names each call, once, in lower camel case, under a tag that it declares', async () => {
    const description = await read(path);
    const operations = operationsOf(description);
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.filter((id) => !/^[a-z]+([A-Z][a-z]+|X)*$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    const declared = new Set(description.tags.map(({ name }) => name));
    expect(operations.filter(({ tags }) => !tags.every((tag) => declared.has(tag)))).toEqual([]);
  });

  test('names what is in a path and a query, and says that a body has no other fields', async () => {
    const { paths } = await read(path);
    const named = ({ parameters }: Operation, place: string) =>
      parameters.filter((one) => one.in === place).map(({ name }) => name);
    for (const [at, operations] of Object.entries(paths)) {
      const parts = [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
      for (const operation of Object.values(operations)) expect(named(operation, 'path')).toEqual(parts);
    }
    const remove = (at: string) => paths[at]?.delete ?? expect.unreachable();
    expect(named(remove('/api/albums/{id}'), 'query')).toEqual(['images']);
    expect(named(remove('/api/albums/{id}/images/{image}'), 'query')).toEqual(['image']);
    const [body] = Object.values(paths['/api/reports']?.post?.requestBody?.content ?? {});
    expect(body?.schema).toMatchObject({ additionalProperties: false });
  });

  test('has only patterns whose time grows in proportion to the text', async () => {
    const patterns = new Set<string>();
    JSON.stringify(await read(path), (key, value) => {
      if (key === 'pattern' && typeof value === 'string') patterns.add(value);
      return value;
    });
    expect(patterns.size).toBeGreaterThan(5);
    const slow = [...patterns].filter(
      (pattern) =>
        analyse(new RegExp(pattern), { reportTypes: { Move: true, Self: true, Trade: true } }).reports
          .length > 0,
    );
    expect(slow).toEqual([]);
  });

  test('has one schema for every error in JSON', async () => {
    const errors = operationsOf(await read(path)).flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, { content }]) =>
        status >= '400' && content?.['application/json'] ? [content['application/json'].schema] : [],
      ),
    );
    expect(errors.length).toBeGreaterThan(100);
    expect(errors.filter((schema) => !Bun.deepEquals(schema, ERROR))).toEqual([]);
  });

  test('gives examples that fit', async () => {
    const { components, ...description } = await read(path);
    // The one keyword of OpenAPI 3.0 that is not JSON Schema's, `nullable`, is known to ajv.
    const ajv = new Ajv({ strict: false, allErrors: true });
    const faults = ({ schema, example }: Media) =>
      ajv.validate({ ...schema, components }, example) ? [] : [ajv.errorsText()];
    const ofSchemas = Object.entries(components.schemas).flatMap(([name, { example, examples = [] }]) =>
      [example, ...examples].flatMap((one) => {
        const schema = { $ref: `#/components/schemas/${name}` };
        return one === undefined ? [] : [{ schema, example: one }];
      }),
    );
    const ofCalls = operationsOf({ ...description, components }).flatMap(({ requestBody, responses }) =>
      [...Object.values(responses), ...(requestBody ? [requestBody] : [])].flatMap(({ content = {} }) =>
        Object.values(content).filter(({ example }) => example !== undefined),
      ),
    );
    expect(ofCalls.length).toBeGreaterThan(30);
    expect([...ofSchemas, ...ofCalls].flatMap(faults)).toEqual([]);
    // What the page makes up has words in capitals where a pattern is asked for.
    const loose = (schema: object) =>
      JSON.parse(JSON.stringify(schema, (key, value) => (key === 'pattern' ? undefined : value)));
    const made = operationsOf({ ...description, components }).flatMap(({ requestBody }) => {
      const media = requestBody?.content?.['application/json'];
      return media ? [{ schema: loose(media.schema), example: sample(media) }] : [];
    });
    expect(made.length).toBeGreaterThan(10);
    expect(made.flatMap(faults)).toEqual([]);
  });
});

const ERROR = { $ref: '#/components/schemas/Error' };

test('both descriptions have the same calls, answers and names of schemas', async () => {
  const [newer, older] = await Promise.all([read('/openapi.json'), read('/openapi-3.0.json')]);
  const outline = (description: Description) => [
    operationsOf(description).map(({ operationId, responses }) => [operationId, Object.keys(responses)]),
    Object.keys(description.components.schemas),
  ];
  expect(outline(older)).toEqual(outline(newer));
});

test('uploads are described as a form and as bytes, and events as a stream of them', async () => {
  const { paths } = await read('/openapi.json');
  expect(Object.keys(paths['/api/upload']?.post?.requestBody?.content ?? {})).toEqual([
    'multipart/form-data',
    'application/octet-stream',
    'application/json',
  ]);
  expect(paths['/api/refresh/events']?.get?.responses[200]?.content).toHaveProperty(['text/event-stream']);
});

/** Calls every described route as a stranger. Returns those that were refused, and those described as needing a token. */
async function guarded({ send }: Pick<RunningServer, 'send'>) {
  const { paths } = await json<Description>(await send('/openapi.json'));
  const refused: string[] = [];
  const described: string[] = [];
  let client = 0;
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { operationId, security = [] }] of Object.entries(operations)) {
      if (security.length > 0 && !security.some((way) => Object.keys(way).length === 0))
        described.push(operationId);
      const answer = await send(path.replaceAll(/\{\w+\}/g, '1'), {
        method: method.toUpperCase(),
        from: `192.0.2.${++client}`,
      });
      await answer.body?.cancel();
      if (answer.status === 401) refused.push(operationId);
    }
  }
  return { refused, described };
}

test('exactly the calls that need a token are described so, with every token set', () =>
  withServer(
    {
      ADMIN_TOKEN: 'the-administrator',
      METRICS_TOKEN: 'the-metrics-of-this',
      UPLOAD: 'token',
    },
    async (server) => {
      const { refused, described } = await guarded(server);
      expect(described).toEqual(refused);
      expect(refused).toContain('getMetrics');
      expect(refused).toContain('startRefresh');
      expect(refused).toContain('createAlbum');
      // The delete token is enough.
      expect(refused).not.toContain('changeImage');
    },
  ));

test('exactly the calls that need a token are described so, without any token set', () =>
  withServer({}, async (server) => {
    const { refused, described } = await guarded(server);
    expect(described).toEqual(refused);
    expect(refused).toEqual([
      ...['listBlocks', 'block', 'unblock', 'readLog'],
      ...['listReports', 'decideReport', 'listTokens', 'createToken', 'revokeToken'],
      'listGatewayRequests',
      ...['listAllImages', 'listReviews', 'decideReview', 'getReviewedImage'],
    ]);
  }));
