import type { Environment } from '../config.ts';
import { text } from '../config-values.ts';
import { parseForeignJson } from '../lib/foreign-json.ts';
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

type Method = 'GET' | 'POST' | 'DELETE';

/** The fields that an answer must have, by the type of their values; optional ones are left out. */
type Shape<T> = {
  readonly [Name in keyof T as object extends Pick<T, Name> ? never : Name]: 'string' | 'number' | 'object';
};

/**
 * A picpool server as the commands use it. Both methods reject with a `CommandError` that explains the failure, also if
 * another program answers with a status of success, as the login page of a network does.
 */
export interface Client {
  readonly url: string;
  /** Returns the answer to a call, as JSON that says `success` and has these fields. */
  ask<T extends object>(method: Method, path: string, shape: Shape<T>, options?: Call): Promise<T>;
  /** Returns an answer of the media type, whose body is not read yet. */
  open(path: string, mediaType: string): Promise<Response>;
}

/**
 * Sends `PICPOOL_TOKEN`, or else `ADMIN_TOKEN`, with every call. The token never comes from the command line, which
 * other users can see.
 */
export function createClient(given: string | undefined, env: Environment): Client {
  const url = (given || env.PICPOOL_URL?.trim() || DEFAULT_URL).replace(/(?<!\/)\/+$/, '');
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw usageError(`The URL of the server must begin with http:// or https://. "${url}" does not.`);
  }
  const token = env.PICPOOL_TOKEN?.trim() || env.ADMIN_TOKEN?.trim();
  const headers: Record<string, string> = { accept: 'application/json, text/plain, text/event-stream' };
  if (token) headers.authorization = `Bearer ${token}`;

  async function call(
    method: Method,
    path: string,
    { body, headers: more, timeoutMs = TIMEOUT_MS }: Call = {},
  ): Promise<Response> {
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
  }

  return {
    url,

    async ask<T extends object>(method: Method, path: string, shape: Shape<T>, options?: Call) {
      const text = await readText(await call(method, path, options)).catch((error: unknown) => {
        throw cutOff(error, 'what was asked may have been done');
      });
      const found = parsed(text);
      if (found?.success !== true) throw otherProgram(url);
      for (const [name, type] of Object.entries(shape)) {
        if (typeof found[name] !== type || found[name] === null) throw otherProgram(url);
      }
      return found as T;
    },

    async open(path, mediaType) {
      const answer = await call('GET', path);
      if (answer.headers.get('content-type')?.startsWith(mediaType)) return answer;
      await answer.body?.cancel();
      throw otherProgram(url);
    },
  };
}

function otherProgram(url: string): CommandError {
  return new CommandError(`The response of ${url} is not one of picpool. Does another program answer there?`);
}

/** Returns the error for an answer that broke off. */
export function cutOff(error: unknown, consequence: string): CommandError {
  if (error instanceof CommandError) return error;
  return new CommandError(`The server's response was cut off (${reasonOf(error)}); ${consequence}.`);
}

/** Returns the object that the text is as JSON, or `null`. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    return parseForeignJson(text, { maxLength: MAX_ANSWER_BYTES }) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}

/** The server did not respond, so another call will not succeed either. */
export class ServerAway extends CommandError {}

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
  const facts = parsed(await readText(answer).catch(() => ''));
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
