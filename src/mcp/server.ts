import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { toAppError } from '../http/errors.ts';
import type { Log } from '../lib/logger.ts';
import { type Ask, TOOLS, type Tool } from './tools.ts';

/** What a caller may do, and on whose behalf. */
interface Visit {
  tools: readonly Tool[];
  ask: Ask;
}

/** Implements the Model Context Protocol of 2026 and 2025, without sessions. */
export function createAgents(version: string, log: Log) {
  // Compiled once instead of for each message.
  const inputs = new Map(
    TOOLS.map(({ name, input }) => [name, fromJsonSchema<object>(JSON.parse(JSON.stringify(input)))]),
  );

  function serverFor({ tools, ask }: Visit): McpServer {
    const server = new McpServer({ name: 'picpool', version });
    for (const tool of tools) {
      const { name, title, description, writes } = tool;
      const inputSchema = inputs.get(name);
      if (!inputSchema) throw new Error(`there is no tool ${name}`);
      const annotations = { readOnlyHint: !writes, destructiveHint: false };
      server.registerTool(name, { title, description, inputSchema, annotations }, (given) =>
        result(tool, given, ask, log),
      );
    }
    return server;
  }

  return {
    /** Answers one message, whose body was already read. Keeps no state. */
    answer(request: Request, body: unknown, visit: Visit): Promise<Response> {
      const handler = createMcpHandler(() => serverFor(visit), {
        // Nothing ever changes that a client could subscribe to.
        maxSubscriptions: 0,
        onerror: (error) => log('debug', 'mcp', { error }),
      });
      return handler.fetch(request, { parsedBody: body });
    },
  };
}

export type Agents = ReturnType<typeof createAgents>;

/** Returns the tool's answer. An error is also returned, so that the agent can read and correct it. */
async function result(tool: Tool, given: object, ask: Ask, log: Log) {
  try {
    const answer = await tool.run(given, ask);
    return { content: [{ type: 'text' as const, text: JSON.stringify(answer) }], structuredContent: answer };
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === 'internal') log('error', 'tool failed', { tool: tool.name, cause: error.cause });
    return { content: [{ type: 'text' as const, text: `${error.code}: ${error.message}` }], isError: true };
  }
}
