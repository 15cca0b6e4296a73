import { setTimeout } from 'node:timers/promises';
import type { Environment } from '../config.ts';
import { text } from '../config-values.ts';
import { within } from '../lib/deadline.ts';
import { parseForeignJson } from '../lib/foreign-json.ts';
import { CommandError, usageError } from './exit.ts';
import { value } from './options.ts';

const DEFAULT_URL = 'http://localhost:3000';
/** Maximum length of an answer that is read into memory. The longest is a job with ten thousand lists. */
const MAX_ANSWER_BYTES = 16_000_000;
const TIMEOUT_MS = 30_000;
/** In one call, until a limit of the server has room again. */
const MAX_WAIT_S = 60;

/** The options of all commands that call a server. */
export const serverOptions = {
  url: value('URL', text(undefined, `Base URL of the server. [PICPOOL_URL, else ${DEFAULT_URL}]`)),
};

export interface Call {
  /** A form, or JSON text. */
  body?: FormData | string;
  /** In addition to those of every call. */
  headers?: Record<string, string>;
  /** For the whole answer. Default: 30 s. */
  timeoutMs?: number;
}

type Method = 'GET' | 'POST' | 'DELETE';

/** The fields that an answer must have, by the type of their values; optional ones are left out. */
type Shape<T> = {
  readonly [Name in keyof T as object extends Pick<T, Name> ? never : Name]:
    | 'string'
    | 'number'
    | 'boolean'
    | 'object';
};

/**
 * A picpool server as the commands use it. Both methods reject with a `CommandError` that explains the failure, also if
 * another program answers with a status of success, as the login page of a network does.
 */
export interface Client {
  readonly url: string;
  /** Returns the answer to a call, as JSON that says `success` and has these fields. */
  ask<T extends object>(method: Method, path: string, shape: Shape<T>, options?: Call): Promise<T>;
  /** Returns an answer of the media type within 30 s, whose body is not read yet. */
  open(path: string, mediaType: string): Promise<Response>;
}

/**
 * Sends `PICPOOL_TOKEN`, or else `ADMIN_TOKEN`, with every call, to this server alone: redirects are refused. The token
 * never comes from the command line, which other users can see.
 */
export function createClient(given: string | undefined, env: Environment): Client {
  const url = (given || env.PICPOOL_URL?.trim() || DEFAULT_URL).replace(/(?<!\/)\/+$/, '');
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw usageError(`The URL of the server must begin with http:// or https://. "${url}" does not.`);
  }
  const tokenName = ['PICPOOL_TOKEN', 'ADMIN_TOKEN'].find((name) => env[name]?.trim());
  const headers: Record<string, string> = { accept: 'application/json, text/plain, text/event-stream' };
  if (tokenName) headers.authorization = `Bearer ${env[tokenName]?.trim()}`;

  /** Returns what `read` makes of a good answer. */
  async function call<T>(
    method: Method,
    path: string,
    { body, headers: more, timeoutMs = TIMEOUT_MS }: Call,
    read: (answer: Response) => Promise<T>,
  ): Promise<T> {
    const send = async () => {
      const answer = await fetch(url + path, {
        method,
        headers: { ...headers, ...more },
        redirect: 'manual',
        ...(body && { body }),
      });
      if (answer.ok) return read(answer);
      throw await refusalOf(answer, tokenName);
    };
    for (let waitedS = 0; ; ) {
      try {
        return await within(timeoutMs, send());
      } catch (error) {
        if (!(error instanceof CommandError)) {
          throw new ServerAway(
            `${url} does not respond (${reasonOf(error)}). Is the server running? Use --url or PICPOOL_URL to name another one.`,
          );
        }
        if (!(error instanceof Limited) || waitedS + error.seconds > MAX_WAIT_S) throw error;
        waitedS += error.seconds;
        await setTimeout(error.seconds * 1000);
      }
    }
  }

  return {
    url,

    async ask<T extends object>(method: Method, path: string, shape: Shape<T>, options: Call = {}) {
      const text = await call(method, path, options, (answer) =>
        readText(answer).catch((error: unknown) => {
          throw cutOff(error, 'what was asked may have been done');
        }),
      );
      const found = parsed(text);
      if (found?.success !== true) throw otherProgram(url);
      for (const [name, type] of Object.entries(shape)) {
        if (typeof found[name] !== type || found[name] === null) throw otherProgram(url);
      }
      return found as T;
    },

    open: (path, mediaType) =>
      call('GET', path, {}, async (answer) => {
        if (answer.headers.get('content-type')?.startsWith(mediaType)) return answer;
        await answer.body?.cancel();
        throw otherProgram(url);
      }),
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

/** A limit of the server was reached, so that nothing was done. It has room again after so many seconds. */
class Limited extends CommandError {
  seconds = 0;
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

/** Returns the server's error as a sentence. `tokenName`: the variable of the token that was sent. */
async function refusalOf(answer: Response, tokenName: string | undefined): Promise<CommandError> {
  const { status, headers, url } = answer;
  const location = headers.get('location');
  if (location !== null) {
    const place = URL.canParse(location, url) ? new URL(location, url).href : 'nowhere';
    return new CommandError(`The server redirects to ${place}. Name its new URL with --url or PICPOOL_URL.`);
  }
  const facts = parsed(await readText(answer).catch(() => ''));
  if (typeof facts?.error !== 'string')
    return new CommandError(`The server responded with status ${status} and no reason.`);
  const wait = headers.get('retry-after');
  const sentence = [
    `The server refused (${status}): ${facts.error}`,
    status === 401 &&
      (tokenName ? `${tokenName} does not match.` : 'Set PICPOOL_TOKEN to a token of the server.'),
    wait !== null && `Try again in ${wait} s.`,
    status >= 500 && typeof facts.request_id === 'string' && `Request ${facts.request_id}.`,
  ]
    .filter((part) => part !== false)
    .join(' ');
  const seconds = status === 429 ? Number(wait) : 0;
  return seconds > 0 ? Object.assign(new Limited(sentence), { seconds }) : new CommandError(sentence);
}

/** Each runtime stores the reason in another place. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && typeof error.code === 'string') return error.code;
  const { cause } = error;
  return cause instanceof Error ? reasonOf(cause) : error.message;
}
