import type { Environment } from '../config.ts';
import { text } from '../config-values.ts';
import { CommandError, usageError } from './exit.ts';
import { value } from './options.ts';

const DEFAULT_URL = 'http://localhost:3000';
/** Maximum length of an answer that is read into memory. The longest is a job with ten thousand lists. */
const MAX_ANSWER_BYTES = 16_000_000;
const TIMEOUT_MS = 30_000;

/** The options of all commands that call a server. */
export const serverOptions = {
  url: value('URL', text(undefined, `Base URL of the server. [PICPOOL_URL, else ${DEFAULT_URL}]`)),
};

export interface Call {
  /** A form, or JSON text. */
  body?: FormData | string;
  /** In addition to those of every call. */
  headers?: Record<string, string>;
  /** From the start of the call to the headers of the answer. Default: 30 s. */
  timeoutMs?: number;
}

/** A picpool server as the commands use it. */
export interface Client {
  readonly url: string;
  /** Returns a successful answer. Rejects with a `CommandError` that explains the failure. */
  call(method: 'GET' | 'POST' | 'DELETE', path: string, options?: Call): Promise<Response>;
}

/**
 * Sends `PICPOOL_TOKEN`, or else `ADMIN_TOKEN`, with every call. The token never comes from the command line, which
 * other users can see.
 */
export function createClient(given: string | undefined, env: Environment): Client {
  const url = (given || env.PICPOOL_URL?.trim() || DEFAULT_URL).replace(/\/+$/, '');
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw usageError(`The URL of the server must begin with http:// or https://. "${url}" does not.`);
  }
  const token = env.PICPOOL_TOKEN?.trim() || env.ADMIN_TOKEN?.trim();
  const headers: Record<string, string> = { accept: 'application/json, text/plain, text/event-stream' };
  if (token) headers.authorization = `Bearer ${token}`;
  return {
    url,
    async call(method, path, { body, headers: more, timeoutMs = TIMEOUT_MS } = {}) {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeoutMs);
      try {
        const answer = await fetch(url + path, {
          method,
          headers: { ...headers, ...more },
          signal: late.signal,
          ...(body && { body }),
        });
        if (answer.ok) return answer;
        throw new CommandError(await sentenceOf(answer, token !== undefined && token !== ''));
      } catch (error) {
        if (error instanceof CommandError) throw error;
        const why = late.signal.aborted ? `no response within ${timeoutMs / 1000} s` : reasonOf(error);
        throw new ServerAway(
          `${url} does not respond (${why}). Is the server running? Use --url or PICPOOL_URL to name another one.`,
        );
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** The server did not respond, so another call will not succeed either. */
export class ServerAway extends CommandError {}

/** Reads an answer as JSON. */
export async function readAnswer<T>(answer: Response): Promise<T> {
  const text = await readText(answer);
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new CommandError(`The server at ${new URL(answer.url).origin} is not picpool.`);
  }
}

/** Reads an answer of limited length. */
export async function readText(answer: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of answer.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > MAX_ANSWER_BYTES) throw new CommandError("The server's response is too long.");
  }
  return text + decoder.decode();
}

/** Returns the server's error as a sentence. */
async function sentenceOf(answer: Response, hasToken: boolean): Promise<string> {
  const facts = await readText(answer)
    .then((text) => JSON.parse(text) as { error?: unknown; request_id?: unknown } | null)
    .catch(() => null);
  if (typeof facts?.error !== 'string')
    return `The server responded with status ${answer.status} and no reason.`;
  const wait = answer.headers.get('retry-after');
  return [
    `The server refused (${answer.status}): ${facts.error}`,
    answer.status === 401 &&
      (hasToken ? 'ADMIN_TOKEN does not match.' : "Set ADMIN_TOKEN to the server's token."),
    wait !== null && `Try again in ${wait} s.`,
    answer.status >= 500 && typeof facts.request_id === 'string' && `Request ${facts.request_id}.`,
  ]
    .filter((part) => part !== false)
    .join(' ');
}

/** Each runtime stores the reason in another place. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && typeof error.code === 'string') return error.code;
  const { cause } = error;
  return cause instanceof Error ? reasonOf(cause) : error.message;
}
