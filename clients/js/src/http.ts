/** How to reach a server. */
export interface PicpoolOptions {
  /** A token of the server, or `ADMIN_TOKEN`, which is sent with every call. */
  token?: string | undefined;
  /**
   * Time until an answer must be there, in ms; until it must begin, for events and files of pictures. Default: 30 s, and 5 s for reports,
   * which never wait longer. Uploads are only limited by their `signal`.
   */
  timeoutMs?: number;
  /**
   * How often a GET that was answered with 429 or 503 is retried, if it has to wait a minute at most. Default: twice. An upload whose answer
   * was lost is repeated once, unless this is 0.
   */
  retries?: number;
  /** Replaces the runtime's `fetch`. */
  fetch?: (url: string, init: RequestInit) => Response | Promise<Response>;
}

/** An error from the server, with its message. */
export class PicpoolError extends Error {
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** A code for programs: `rate_limited`, `not_found`, `network` if there was no answer, `invalid_answer` if it was not what was asked for... */
  readonly code: string;
  /** The ID of the request in the server's log. */
  readonly requestId: string | null;
  /** Which fields are wrong, and why. */
  readonly details: readonly { field: string; message: string }[];
  /** Seconds after which a retry may succeed, if the server gave them. */
  readonly retryAfter: number | null;

  constructor(message: string, facts: Partial<Omit<PicpoolError, 'message' | 'name'>> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PicpoolError';
    this.status = facts.status ?? 0;
    this.code = facts.code ?? 'network';
    this.requestId = facts.requestId ?? null;
    this.details = facts.details ?? [];
    this.retryAfter = facts.retryAfter ?? null;
  }
}

/** Values of a query. `undefined` and `null` are left out, arrays are joined with commas. */
export type Query = Record<
  string,
  string | number | boolean | readonly (string | number)[] | null | undefined
>;

export interface Call {
  method?: 'GET' | 'POST' | 'DELETE';
  query?: Query;
  /** Sent as JSON. */
  json?: unknown;
  /** Makes the body of each attempt. */
  body?: () => FormData | ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** 0: no time limit. Default: that of the client. */
  timeoutMs?: number;
  /** Fields that the answer must have. */
  mustHave?: readonly string[];
  /** By this, the server knows a repetition, so the call is repeated once if its answer was lost. */
  idempotencyKey?: string;
  /** Default: that of the client. */
  fetch?: NonNullable<PicpoolOptions['fetch']>;
}

/** Calls one server. */
export interface Http {
  readonly url: string;
  /** Returns a successful answer whose media type begins so; a page of something in between has another one. Rejects with `PicpoolError`. */
  open(path: string, mediaType: string, call?: Call): Promise<Response>;
  /** Returns a successful answer, parsed as JSON. Rejects with `PicpoolError`. */
  json<T>(path: string, call?: Call): Promise<T>;
}

/** A call that would have to wait for longer is left to the caller. */
const MAX_PAUSE_S = 60;

export function createHttp(server: string | URL, options: PicpoolOptions): Http {
  const { token, retries = 2 } = options;
  const send = options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init));
  const url = String(server).replace(/\/+$/, '');

  function urlOf(path: string, query: Query = {}): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
    return `${url}${path}${given.length > 0 ? `?${search}` : ''}`;
  }

  /** `read`: what to do with a successful answer within the time limit. */
  async function once<T>(
    path: string,
    read: (answer: Response) => T | Promise<T>,
    { method = 'GET', query, json, headers, signal, timeoutMs = options.timeoutMs ?? 30_000, ...asked }: Call,
  ): Promise<T> {
    const body = json === undefined ? asked.body?.() : JSON.stringify(json);
    const late = new AbortController();
    const timer = timeoutMs > 0 ? setTimeout(() => late.abort(), timeoutMs) : undefined;
    // It keeps nothing of a call that has ended.
    const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    try {
      const answer = await (asked.fetch ?? send)(urlOf(path, query), {
        method,
        // The server never redirects, and wherever else it leads to must get no token.
        redirect: 'manual',
        signal: either,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(asked.idempotencyKey !== undefined && { 'idempotency-key': asked.idempotencyKey }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        // Node requires it, but the types of `fetch` do not include it yet.
        ...(body instanceof ReadableStream && { duplex: 'half' }),
      });
      if (!answer.ok) throw await errorOf(answer);
      const told = await read(answer);
      either.throwIfAborted();
      return told;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof PicpoolError && !late.signal.aborted) throw error;
      const why = late.signal.aborted ? `no response within ${timeoutMs / 1000} s` : messageOf(error);
      throw new PicpoolError(`${url} does not respond: ${why}.`, {}, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async function call<T>(
    path: string,
    read: (answer: Response) => T | Promise<T>,
    asked: Call = {},
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await once(path, read, asked);
      } catch (error) {
        if (!(error instanceof PicpoolError) || !mayRepeat(asked, error, attempt)) throw error;
        const seconds = error.retryAfter ?? 1;
        if (seconds > MAX_PAUSE_S) throw error;
        await pause(seconds * 1000, asked.signal);
      }
    }
  }

  /** A repetition of an upload waits for its turn like a GET: otherwise nobody gets the token of what may be stored. */
  function mayRepeat(
    { method = 'GET', idempotencyKey }: Call,
    { status, code }: PicpoolError,
    attempt: number,
  ): boolean {
    if (attempt >= retries) return false;
    if (method === 'GET' || attempt > 0) return status === 429 || status === 503;
    const isLost = code === 'network' || code === 'invalid_answer' || status === 502 || status === 504;
    return idempotencyKey !== undefined && isLost;
  }

  return {
    url,
    async open(path, mediaType, asked) {
      const answer = await call(path, (begun) => begun, asked);
      if (answer.headers.get('content-type')?.startsWith(mediaType)) return answer;
      await answer.body?.cancel();
      const message = `${url} answered with ${answer.headers.get('content-type')} in place of ${mediaType}.`;
      throw new PicpoolError(message, { status: answer.status, code: 'invalid_answer' });
    },
    async json<T>(path: string, asked?: Call) {
      const read = async (answer: Response) => {
        const { status } = answer;
        const body: unknown = await answer.json().catch((error) => {
          // A page of something in between, or a body that was cut off.
          const message = `${url} answered something that is not JSON: ${messageOf(error)}.`;
          throw new PicpoolError(message, { status, code: 'invalid_answer' }, error);
        });
        return { status, body };
      };
      const { status, body } = await call(path, read, asked);
      const told = body as Record<string, unknown> | null;
      const isWhole = (asked?.mustHave ?? []).every((name) => told?.[name] !== undefined);
      if (isWhole && told !== null && (told.success ?? true) === true) return told as T;
      const message = `${url} answered something that picpool would not.`;
      throw new PicpoolError(message, { status, code: 'invalid_answer' });
    },
  };
}

/** Parses the server's error envelope. Any other body comes from something in between. */
async function errorOf(answer: Response): Promise<PicpoolError> {
  const place = answer.headers.get('location');
  // Browsers do not say where it leads to.
  if (place !== null || answer.type === 'opaqueredirect')
    return new PicpoolError(`The server redirects to ${place ?? 'another URL'}: give its own URL.`, {
      status: answer.status,
      code: 'redirected',
    });
  const { status } = answer;
  let told: {
    error?: string;
    code?: string;
    request_id?: string;
    details?: { field: string; message: string }[];
  } = {};
  try {
    told = JSON.parse(await answer.text());
  } catch {}
  const message =
    typeof told?.error === 'string' ? told.error : `The server answered ${status} without a reason.`;
  return new PicpoolError(message, {
    status,
    code: told?.code ?? `http_${status}`,
    requestId: told?.request_id ?? null,
    details: told?.details ?? [],
    retryAfter: secondsOf(answer.headers.get('retry-after') ?? ''),
  });
}

/** Reads `Retry-After`: seconds, or a date, as something in between may send it. */
function secondsOf(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text);
  // Without letters it is not a date of HTTP, although engines find one in `1.5`.
  const seconds = /[a-z]/i.test(text) ? Math.ceil((Date.parse(text) - Date.now()) / 1000) : Number.NaN;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

/** Without a full stop, as it ends a sentence. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? messageOf(error.cause) : error.message.replace(/\.$/, '');
}

/** Resolves after that many ms. Rejects with the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
