import { setTimeout } from 'node:timers/promises';
import { type Environment, parseConfig } from '../config.ts';
import { text } from '../config-values.ts';
import { within } from '../lib/deadline.ts';
import { foreignRecord } from '../lib/foreign-json.ts';
import { masked } from '../lib/masked.ts';
import { socketPath, urlOf } from '../start/listen.ts';
import { CommandError, OutputFault, usageError } from './exit.ts';
import { value } from './options.ts';

type BasePath = 'IMAGE_BASE_PATH' | 'PROXY_BASE_PATH';

/** Where a service with these settings listens, so that no other gets their token: a URL, or `unix:` and a path. */
function ownUrl(name: BasePath, { HOST, PORT, [name]: base }: Environment): string {
  const { HOST: hostname, PORT: port, [name]: path } = parseConfig({ HOST, PORT, [name]: base });
  return socketPath(hostname) === null ? urlOf({ hostname, port }) + path : hostname;
}

/** Maximum length of an answer that is read into memory. The longest is a job with ten thousand lists. */
const MAX_ANSWER_BYTES = 16_000_000;
const TIMEOUT_MS = 30_000;
const MAX_WAIT_S = 60;
/** The server sends something every 15 s. */
const SILENCE_MS = 60_000;

/** The options of all commands that call a server. */
export const serverOptions = {
  url: value('URL', text(undefined, 'Base URL of the server. [PICPOOL_URL, else that of the settings]')),
};

export interface Call {
  /** A form, or JSON text. */
  body?: FormData | string;
  /** In addition to those of every call. */
  headers?: Record<string, string>;
  /** For the headers of the answer, and again for its body. Default: 30 s. */
  timeoutMs?: number;
}

type Method = 'GET' | 'POST' | 'DELETE';

interface Types {
  string: string;
  number: number;
  boolean: boolean;
  object: object;
  array: readonly object[];
}

/** The fields that an answer must have, by the type of their values. */
type Shape = Readonly<Record<string, keyof Types>>;
export type Answer<S extends Shape> = { [Name in keyof S]: Types[S[Name]] };

/**
 * Sends `PICPOOL_TOKEN`, or else `ADMIN_TOKEN`, with every call, to this server alone: redirects are refused. The token
 * never comes from the command line, which other users can see. `service`: whose path the URL of these settings has.
 */
export function createClient(
  given: string | undefined,
  env: Environment,
  service: BasePath = 'IMAGE_BASE_PATH',
) {
  const url = (given ?? (env.PICPOOL_URL?.trim() || ownUrl(service, env))).replace(/(?<!\/)\/+$/, '');
  const shown = masked('PICPOOL_URL', url);
  const socket = socketPath(url);
  if (socket === null && !(/^https?:\/\//.test(url) && URL.canParse(url))) {
    throw usageError(`The URL of the server must begin with http:// or https://. "${shown}" does not.`);
  }
  const tokenName = ['PICPOOL_TOKEN', 'ADMIN_TOKEN'].find((name) => env[name]?.trim());
  const headers: Record<string, string> = { accept: 'application/json, text/plain, text/event-stream' };
  if (tokenName) headers.authorization = `Bearer ${env[tokenName]?.trim()}`;

  /** `roomS`: seconds that it may wait for the limits of the server, which does nothing meanwhile. */
  async function call(
    method: Method,
    path: string,
    options: Call = {},
    roomS = MAX_WAIT_S,
  ): Promise<Response> {
    // Not before: a link may name another server.
    if (socket !== null)
      throw usageError(
        `Commands cannot call the socket ${socket}. Name a URL of the server with --url or PICPOOL_URL.`,
      );
    const { body, headers: more, timeoutMs = TIMEOUT_MS } = options;
    const request = { method, headers: { ...headers, ...more }, ...(body && { body }) };
    const late = new AbortController();
    const asked = fetch(url + path, { ...request, redirect: 'manual', signal: late.signal });
    const answer = await within(timeoutMs, asked).catch((error: unknown) => {
      // Otherwise an upload that is slow would go on, and be stored without its delete token.
      late.abort();
      throw new ServerAway(
        `${shown} does not respond (${reasonOf(error)}). Is the server running? Use --url or PICPOOL_URL to name another one.`,
      );
    });
    if (answer.ok) return answer;
    const seconds = answer.status === 429 ? Math.ceil(Number(answer.headers.get('retry-after'))) : 0;
    // What a reverse proxy answers if it got no answer itself.
    const Fault = [502, 504].includes(answer.status) ? AnswerLost : CommandError;
    if (!(seconds > 0 && seconds <= roomS)) throw new Fault(await sentenceOf(answer, tokenName));
    await answer.body?.cancel();
    await setTimeout(seconds * 1000);
    return call(method, path, options, roomS - seconds);
  }

  return {
    url,

    /** Returns the answer to a call, as JSON that says `success` and has these fields. */
    async ask<const S extends Shape>(method: Method, path: string, shape: S, options?: Call) {
      const answer = await call(method, path, options);
      const reading = within(options?.timeoutMs ?? TIMEOUT_MS, readText(answer));
      const text = await reading.catch((error: unknown) => {
        throw cutOff(error, 'what was asked may have been done');
      });
      const found = foreignRecord(text, { maxLength: MAX_ANSWER_BYTES });
      if (found?.success !== true) throw otherProgram(shown);
      for (const [name, type] of Object.entries(shape)) {
        const value = found[name];
        const isType = Array.isArray(value) ? type === 'array' : typeof value === type;
        if (!isType || value === null) throw otherProgram(shown);
      }
      return found as Answer<S>;
    },

    /** Returns an answer of the media type within 30 s, whose body is not read yet. */
    async open(path: string, mediaType: string): Promise<Response> {
      const answer = await call('GET', path);
      if (answer.headers.get('content-type')?.startsWith(mediaType)) return answer;
      await answer.body?.cancel();
      throw otherProgram(shown);
    },
  };
}

/**
 * A picpool server as the commands use it. Both methods reject with a `CommandError` that explains the failure, also if
 * another program answers with a status of success, as the login page of a network does.
 */
export type Client = ReturnType<typeof createClient>;

function otherProgram(url: string): CommandError {
  return new CommandError(`The response of ${url} is not one of picpool. Does another program answer there?`);
}

/** Returns the error for an answer that broke off. */
export function cutOff(error: unknown, consequence: string): Error {
  if (error instanceof CommandError || error instanceof OutputFault) return error;
  return new AnswerLost(`The server's response was cut off (${reasonOf(error)}); ${consequence}.`);
}

/** The server may have done what was asked: its answer was lost. */
export class AnswerLost extends CommandError {}

/** The server did not respond, so another call will not succeed either. */
export class ServerAway extends AnswerLost {}

/** Yields the text of an answer as it arrives. Rejects if nothing arrives for a minute. */
export async function* piecesOf(answer: Response): AsyncGenerator<string> {
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  try {
    while (reader) {
      const piece = await within(SILENCE_MS, reader.read(), 'the server has gone silent');
      if (piece.done) return;
      yield decoder.decode(piece.value, { stream: true });
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

/** Reads an answer of limited length. */
export async function readText(answer: Response): Promise<string> {
  let text = '';
  for await (const piece of piecesOf(answer)) {
    text += piece;
    if (text.length > MAX_ANSWER_BYTES) throw new CommandError("The server's response is too long.");
  }
  return text;
}

/** Returns the server's error as a sentence. `tokenName`: the variable of the token that was sent. */
async function sentenceOf(answer: Response, tokenName: string | undefined): Promise<string> {
  const { status, headers } = answer;
  const place = headers.get('location');
  if (place !== null) return `The server redirects to ${place}. Name its new URL with --url or PICPOOL_URL.`;
  const facts = foreignRecord(await within(TIMEOUT_MS, readText(answer)).catch(() => ''));
  if (typeof facts?.error !== 'string') return `The server responded with status ${status} and no reason.`;
  const wait = headers.get('retry-after');
  return [
    `The server refused (${status}): ${facts.error}`,
    status === 401 &&
      (tokenName ? `${tokenName} does not match.` : 'Set PICPOOL_TOKEN to a token of the server.'),
    wait !== null && `Try again ${Number.isNaN(Number(wait)) ? `after ${wait}` : `in ${wait} s`}.`,
    status >= 500 && typeof facts.request_id === 'string' && `Request ${facts.request_id}.`,
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
