import { AppError, inEnglish } from '../errors.ts';
import type { PeerOf } from '../http/context.ts';
import { bearerOf } from '../http/dialect.ts';
import { MAX_JSON_BYTES, readJson } from '../http/read-body.ts';
import { type Call, type Route, route } from '../http/route.ts';
import { isSecret } from '../lib/secret.ts';
import type { Agents } from './server.ts';
import { type Answer, type Ask, type Asked, MAX_PICTURE_BYTES, type Service, TOOLS } from './tools.ts';

interface McpOptions {
  agents: Agents;
  /** Default: nobody has one. */
  readToken: string | undefined;
  writeToken: string | undefined;
  /** The base paths of the services that run. */
  services: ReadonlyMap<Service, string>;
  /** Answers the requests of tools: the whole application, with its limits. */
  handle: (request: Request, peerOf: PeerOf) => Response | Promise<Response>;
}

/** A picture in Base64 with its envelope. */
const MAX_WRITE_BYTES = Math.ceil(MAX_PICTURE_BYTES / 3) * 4 + MAX_JSON_BYTES;

/** `POST /mcp`: tools for agents. Their actions go through the API, as requests from the same address. */
export function mcpRoutes(mcp: McpOptions): Route[] {
  const { readToken, writeToken } = mcp;
  const isWrite = isSecret(writeToken);
  return [
    route('POST /mcp', (call) => answerAgent(mcp, isWrite, call), {
      limit: 'read',
      tokens: { MCP_READ_TOKEN: readToken, MCP_WRITE_TOKEN: writeToken },
    }),
  ];
}

async function answerAgent(
  { agents, services, handle }: McpOptions,
  isWrite: (token: string | null) => boolean,
  { request, context }: Call,
): Promise<Response> {
  const token = bearerOf(request.headers.get('authorization'));
  const writes = isWrite(token);
  const tools = TOOLS.filter((tool) => services.has(tool.service) && (writes || !tool.writes));
  const body = await readJson(request, writes ? MAX_WRITE_BYTES : MAX_JSON_BYTES);
  const { reachedAt, peer } = context;

  /** Calls the API on behalf of the caller. */
  const ask: Ask = async (asked) => {
    const base = reachedAt + (services.get(asked.service) ?? '');
    const asking = requestOf(asked, base, writes ? token : null);
    // With its signal: what an agent uploads is taken back if the agent has left.
    const response = await handle(new Request(asking, { signal: request.signal }), () => peer);
    const answer = (await response.json()) as Answer;
    if (response.ok) return answer;
    const { code, error } = answer as { code: AppError['code']; error: string };
    const wait = response.headers.get('retry-after');
    throw new AppError(code, inEnglish(wait === null ? error : `${error} Try again in ${wait} s.`));
  };
  return agents.answer(request, body, { tools, ask });
}

function requestOf({ method, path, query = {}, body }: Asked, base: string, token: string | null): Request {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const headers = new Headers();
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  if (body === undefined) return new Request(url.href, { method, headers });
  const content = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
  headers.set('content-type', content === body ? 'application/octet-stream' : 'application/json');
  headers.set('content-length', String(content.byteLength));
  return new Request(url.href, { method, headers, body: content });
}
