import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CLIENTS } from '../../src/image/clients/clients.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { json } from '../support/json.ts';
import { type RunningServer, runServer } from '../support/servers/running-server.ts';

/** Of the processor, whatever else runs: far more than any of them takes, and far less than one whose time grows with the square of the nesting. */
const MOST_MS = 1_000;
const MOST_BYTES = 20_000;
const AGENT_TOKEN = 'the-token-of-an-agent-1';

interface Description {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: object }> } }>>;
}

interface Call {
  method: string;
  path: string;
  /** Fields of its body, as far as they are described. */
  fields: string[];
}

let server: RunningServer;
let calls: Call[];

beforeAll(async () => {
  server = await runServer({
    ADMIN_TOKEN,
    MCP_WRITE_TOKEN: AGENT_TOKEN,
    IMAGE_CLIENTS: 'on',
  });
  const described = callsOf(await json<Description>(await server.send('/openapi.json')));
  const known = new Set(described.map(({ method, path }) => `${method} ${path}`));
  const hidden = (await declaredInSource()).filter(({ method, path }) => !known.has(`${method} ${path}`));
  calls = [...described, ...hidden];
});
afterAll(() => server.stop());

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const ATTACKS: Record<string, string> = {
  'nested as deep as the limit of bytes allows': deep(30_000),
  'nested in objects': `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  'nested and never closed': '['.repeat(60_000),
  'as deep as allowed, and wide': `${'['.repeat(14)}${'1,'.repeat(30_000)}1${']'.repeat(14)}`,
  'of one long string': JSON.stringify('"\\'.repeat(15_000)),
  'with a text behind a long name': `{"${'n'.repeat(30_000)}":"1"}`,
  'with an object behind a long name': `{"${'n'.repeat(30_000)}":{}}`,
  'of many fields': `{${Array.from({ length: 6_000 }, (_, i) => `"f${i}":1`).join()}}`,
};

test('knows the routes that read JSON', () => {
  const names = calls.map(({ method, path }) => `${method} ${path}`);
  expect(names).toContain('POST /api/test_proxy_quick');
  expect(names).toContain('POST /mcp');
  expect(names).toContain('POST /picgo/upload');
  expect(names).toContain('POST /api/admin/blocks');
  expect(calls.flatMap(({ fields }) => fields)).toContain('proxy_id');
});

test.each(Object.entries(ATTACKS))('routes answer a body %s at once and briefly', async (_name, attack) => {
  const faults: string[] = [];
  let client = 0;
  for (const { method, path, fields } of calls) {
    const bodies = [attack, ...fields.map((field) => `{"ip":"192.0.2.1","port":1,"${field}":${attack}}`)];
    for (const body of bodies) {
      const from = `198.51.${++client >> 8}.${client & 255}`;
      const startedAt = process.cpuUsage().user;
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${tokenFor(path)}` };
      const answer = await server.send(path, { method, body, headers, from });
      const { byteLength } = await answer.arrayBuffer();
      const ms = (process.cpuUsage().user - startedAt) / 1000;
      const isJudged = answer.status < 500 && answer.status !== 429 && answer.status !== 401;
      if (ms <= MOST_MS && byteLength <= MOST_BYTES && isJudged) continue;
      const what = `${answer.status} after ${ms} ms, ${byteLength} bytes`;
      faults.push(`${method} ${path} ${body.slice(0, 40)}: ${what}`);
    }
  }
  expect(faults).toEqual([]);
});

function tokenFor(path: string): string {
  return path.startsWith('/mcp') ? AGENT_TOKEN : ADMIN_TOKEN;
}

function callsOf({ paths }: Description): Call[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== 'get')
      .map(([method, { requestBody }]) => ({
        method: method.toUpperCase(),
        path: filled(path.replaceAll(/\{(\w+)\}/g, ':$1')),
        fields: Object.keys(propertiesOf(requestBody?.content['application/json']?.schema)),
      })),
  );
}

function propertiesOf(schema: object | undefined): object {
  return schema !== undefined && 'properties' in schema ? (schema.properties as object) : {};
}

/** The routes that the description leaves out are found in the source. */
async function declaredInSource(): Promise<Call[]> {
  const found: Call[] = [];
  for (const file of new Bun.Glob('src/**/*routes.ts').scanSync('.')) {
    const text = await Bun.file(file).text();
    for (const [, method = '', path = ''] of text.matchAll(/\broute\(\s*'(POST|PATCH|DELETE) (\/[^']*)'/g))
      found.push({ method, path: filled(path), fields: [] });
  }
  for (const { name, routes } of CLIENTS) {
    for (const { method, path } of routes)
      if (method !== 'GET') found.push({ method, path: filled(`/${name}${path}`), fields: [] });
  }
  return found;
}

function filled(path: string): string {
  return path.replaceAll(':id', '1').replaceAll(/:\w+/g, 'abcdefgh');
}
