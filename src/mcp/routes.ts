import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { bearerOf, type PeerOf } from '../http/context.ts';
import { policy } from '../http/policy.ts';
import { MAX_JSON_BYTES, readJson } from '../http/read-json.ts';
import type { ContextOf, RequestContext } from '../http/request-context.ts';
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
  contextOf: ContextOf;
  /** Answers the requests of tools: the whole application, with its limits. */
  handle: (request: Request, peerOf: PeerOf) => Response | Promise<Response>;
}

/** A picture in Base64 with its envelope. */
const MAX_WRITE_BYTES = Math.ceil(MAX_PICTURE_BYTES / 3) * 4 + MAX_JSON_BYTES;

/** Serves `POST /mcp`, tools for agents. Their actions go through the API, as requests from the same address. */
export function mcpRoutes({ agents, readToken, writeToken, services, contextOf, handle }: McpOptions) {
  const isRead = isSecret(readToken);
  const isWrite = isSecret(writeToken);

  /** Calls the API on behalf of the caller. */
  function askerFor({ reachedAt, peer }: RequestContext, token: string | null): Ask {
    return async (asked) => {
      const request = requestOf(asked, reachedAt + (services.get(asked.service) ?? ''), token);
      const response = await handle(request, () => peer);
      const answer = (await response.json()) as Answer;
      if (response.ok) return answer;
      const { code, error } = answer as { code: AppError['code']; error: string };
      throw new AppError(code, error);
    };
  }

  return new Elysia().post(
    '/mcp',
    async ({ request }) => {
      const context = contextOf(request);
      const token = bearerOf(request.headers.get('authorization'));
      const writes = isWrite(token);
      if (!writes && !isRead(token)) {
        const needed = 'This needs the header Authorization: Bearer <MCP_READ_TOKEN or MCP_WRITE_TOKEN>.';
        throw new AppError('unauthorized', needed);
      }
      const tools = TOOLS.filter((tool) => services.has(tool.service) && (writes || !tool.writes));
      const body = await readJson(request, writes ? MAX_WRITE_BYTES : MAX_JSON_BYTES);
      const ask = askerFor(context, writes ? token : null);
      return agents.answer(request, body, { tools, ask });
    },
    { parse: 'none', detail: { hide: true }, ...policy({ limit: 'read' }) },
  );
}

function requestOf({ method, path, query = {}, body }: Asked, base: string, token: string | null): Request {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const headers = new Headers();
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  if (body === undefined) return new Request(url.href, { method, headers });
  const isFile = body instanceof Uint8Array;
  const content = isFile ? body : JSON.stringify(body);
  headers.set('content-type', isFile ? 'application/octet-stream' : 'application/json');
  headers.set('content-length', String(isFile ? body.byteLength : Buffer.byteLength(String(content))));
  return new Request(url.href, { method, headers, body: content });
}
