import type { GatewayReport, PoolProxy, ProxyFilter, Report } from './types.ts';

/** What is needed of a client. */
interface Reporter {
  someProxies(count: number, filter?: ProxyFilter, signal?: AbortSignal): Promise<PoolProxy[]>;
  report(proxy: Pick<PoolProxy, 'id'>, report: Report): Promise<void>;
  reportGateway(report: GatewayReport, token?: string): Promise<unknown>;
}

/** What is needed of a response; those of `fetch` have it. */
export interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body?: { cancel(): Promise<void> } | null;
}

/** Responses with which sites refuse an exit. */
const BANS: ReadonlySet<number> = new Set([403, 429, 451, 503]);
/** What no site sends. */
const NEVER_A_SITES: ReadonlySet<number> = new Set([407, 511]);
/** What a proxy says of a site that it cannot reach. Over https, only the site itself can. */
const UNREACHED: ReadonlySet<number> = new Set([502, 503, 504]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** As many as `fetch` follows. */
const MOST_REDIRECTS = 20;
/** Methods that may be sent again. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Reports whether a site refuses the exit: 403, 429, 451 or 503. What came through a `gateway` is not a ban if it is its own response; any
 * other proxy can write what only a gateway says.
 */
export function isBan(answer: Answer, { gateway = false }: { gateway?: boolean } = {}): boolean {
  return BANS.has(answer.status) && !(gateway && isOwn(answer));
}

/** Reports whether the gateway has answered, and not the site. */
function isOwn({ headers }: Answer): boolean {
  const names = (headers.get('proxy-status') ?? '').split(',').map((part) => part.trim().split(';')[0]);
  return headers.get('x-picpool-error') !== null || names.includes('picpool');
}

export interface ThroughPoolOptions<R> {
  /** Default: `GET`. Other methods than GET, HEAD and OPTIONS are sent once. */
  method?: string;
  /** Maximum number of proxies tried. Default: 5. */
  tries?: number;
  /** Which proxies of the pool. Default of its `protocol`: `http` or `https`, as the URL. */
  filter?: ProxyFilter;
  /** The URL of a gateway, which is used instead of the list. Each try is a session of its own, unless the URL names one. */
  gateway?: string | URL;
  /** The signal of `send`. What fails once it has aborted is not reported, and nothing is tried any more. */
  signal?: AbortSignal;
  /** Decides whether a response refuses the exit. Default: `isBan`. */
  isBan?: (answer: R) => boolean | Promise<boolean>;
}

/**
 * Sends a request through one proxy after the other until a site does not refuse it, and reports how each one did. 502, 503 and 504 over plain
 * http are tried elsewhere as well. Returns the last response if all are refused, and rejects with the last error if there is none;
 * 407 and 511, which only proxies send, are errors. `send`: sends it through a proxy, such as
 * `(proxy, at) => fetch(at, { proxy, redirect: 'manual' })` in Bun. If it takes the URL, redirects of a GET within the site are followed, each
 * through a proxy for its scheme; others are returned. A `send` that follows them itself goes on with the proxy of the first.
 */
export async function throughPool<R extends Answer>(
  picpool: Reporter,
  url: string | URL,
  send: (proxy: string, url: string) => Promise<R>,
  options: ThroughPoolOptions<R> = {},
): Promise<R> {
  const follows = send.length > 1 && isRepeatable(options);
  let at = new URL(url);
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const answer = await exchange(picpool, at, send, options);
    const next = follows ? redirectOf(answer, at) : null;
    if (next === null) return answer;
    discard(answer);
    at = next;
  }
  throw new Error(`${url} redirects more than ${MOST_REDIRECTS} times.`);
}

/**
 * Frees the connection of a response that nobody reads. It may be read already, be shared with a copy that is not, or, with streams of Node,
 * have nothing to cancel.
 */
function discard(answer?: Answer): void {
  Promise.resolve(answer?.body)
    .then((body) => body?.cancel())
    .catch(() => {});
}

const isRepeatable = ({ method = 'GET' }: { method?: string }) => REPEATABLE.has(method.toUpperCase());

/**
 * Returns where a response leads, or `null`: only within the site, also from http to https. What `send` adds, such as a login, is not for
 * others, nor for those who read http.
 */
function redirectOf({ status, headers }: Answer, from: URL): URL | null {
  const location = REDIRECTS.has(status) ? headers.get('location') : null;
  const url = location !== null && URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  const isSecured = from.protocol === 'http:' && url?.protocol === 'https:' && url.hostname === from.hostname;
  return isSecured || url?.origin === from.origin ? url : null;
}

async function exchange<R extends Answer>(
  picpool: Reporter,
  url: URL,
  send: (proxy: string, url: string) => Promise<R>,
  options: ThroughPoolOptions<R>,
): Promise<R> {
  const { tries = 5, filter, gateway, signal } = options;
  // Any proxy can write what only a gateway says.
  const isWord = (answer: R) => gateway !== undefined && isOwn(answer);
  const refuses = options.isBan ?? ((answer: R) => isBan(answer));
  const { hostname: target, protocol } = url;
  const most = isRepeatable(options) ? tries : 1;
  const ways =
    gateway === undefined
      ? (
          await picpool.someProxies(
            most,
            { protocol: protocol === 'https:' ? 'https' : 'http', ...filter },
            signal,
          )
        ).map((proxy) => throughProxy(picpool, proxy, target))
      : Array.from({ length: most }, () => throughGateway(picpool, new URL(gateway), target));
  let last: R | undefined;
  let fault: unknown = new Error('The pool has no proxy that suits.');
  for (const { proxy, tell } of ways) {
    let answer: R | undefined;
    let error: string | undefined;
    try {
      const response = await send(proxy, url.href);
      if (NEVER_A_SITES.has(response.status) && !isWord(response)) {
        discard(response);
        throw new Error(`The proxy itself has answered: status ${response.status}.`);
      }
      discard(last);
      last = answer = response;
    } catch (thrown) {
      signal?.throwIfAborted();
      fault = thrown;
      error = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
    }
    const banned = answer !== undefined && !isWord(answer) && (await refuses(answer));
    const unreached =
      answer !== undefined && protocol === 'http:' && UNREACHED.has(answer.status) && !isWord(answer);
    if (banned || unreached) error = `status ${answer?.status}`;
    // A report is optional: the pool will notice by itself.
    await tell(error, banned).catch(() => {});
    if (error === undefined && last) return last;
  }
  if (last) return last;
  throw fault;
}

/** A way to the site, and how to report its result. */
interface Way {
  proxy: string;
  tell: (error: string | undefined, banned: boolean) => Promise<unknown>;
}

function throughProxy(picpool: Reporter, proxy: PoolProxy, target: string): Way {
  return {
    proxy: proxyUrl(proxy),
    tell: (error) =>
      picpool.report(proxy, { ok: error === undefined, target, ...(error !== undefined && { error }) }),
  };
}

function throughGateway(picpool: Reporter, gateway: URL, target: string): Way {
  const user = decodeURIComponent(gateway.username) || 'user';
  const token = decodeURIComponent(gateway.password);
  // Of several, the last one counts.
  const known = [...user.matchAll(/(?:^|-)session-(\w+)/gi)].at(-1)?.[1];
  const session = known ?? crypto.randomUUID().replaceAll('-', '');
  gateway.username = encodeURIComponent(known === undefined ? `${user}-session-${session}` : user);
  gateway.password ||= 'none';
  return {
    proxy: gateway.href.replace(/\/$/, ''),
    async tell(error, banned) {
      // Everything else the gateway sees itself.
      if (!banned) return;
      const report = { session, target, ok: false, ...(error !== undefined && { error }) };
      await picpool.reportGateway(report, token === '' || token === 'none' ? undefined : token);
    },
  };
}

/**
 * Returns a proxy in the form that clients take: `socks5://203.0.113.9:1080`. An `https` proxy is addressed over
 * plain HTTP, with CONNECT.
 */
export function proxyUrl({ protocol, ip, port }: Pick<PoolProxy, 'protocol' | 'ip' | 'port'>): string {
  return `${protocol === 'https' ? 'http' : protocol}://${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
}
