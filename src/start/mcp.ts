import type { App } from '../app.ts';
import type { Config } from '../config.ts';
import type { Route } from '../http/route.ts';
import type { Log } from '../lib/logger.ts';
import { VERSION } from '../version.ts';

/** Serves `/mcp` if a token for it is set. Otherwise the SDK, which takes 12 MB of memory, is not loaded. */
export async function startMcp(
  config: Config,
  { log, handle }: { log: Log; handle: App['handle'] },
): Promise<Route[]> {
  const { MCP_READ_TOKEN: readToken, MCP_WRITE_TOKEN: writeToken } = config;
  if (readToken === undefined && writeToken === undefined) return [];
  const [{ createAgents }, { mcpRoutes }] = await Promise.all([
    import('../mcp/server.ts'),
    import('../mcp/routes.ts'),
  ]);
  const basePaths = { proxy: config.PROXY_BASE_PATH, image: config.IMAGE_BASE_PATH };
  return mcpRoutes({
    agents: createAgents(VERSION, log),
    readToken,
    writeToken,
    services: new Map(config.SERVICES.map((name) => [name, basePaths[name]])),
    handle,
  });
}
