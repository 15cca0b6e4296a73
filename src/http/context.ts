import { randomBytes } from 'node:crypto';
import { clientNetwork } from '../lib/address.ts';
import { isSecret } from '../lib/secret.ts';
import type { Clients } from './client/clients.ts';
import type { ContextOf, RequestContext } from './request-context.ts';

export interface ContextOptions {
  clients: Clients;
  publicUrl: string | undefined;
  adminToken: string | undefined;
}

/** The address of the socket that a request came over, as the runtime spells it. */
export type PeerOf = (request: Request) => string;

export interface Contexts {
  /** True if `ADMIN_TOKEN` is set. */
  readonly adminIsSet: boolean;
  /** Makes the context of a request that has just come in as `incoming`. */
  open(request: Request, incoming: Request, peerOf: PeerOf): RequestContext;
  /** Binds a context to the request that a route is given, for `of`. */
  bind(request: Request, context: RequestContext): void;
  /** The context of a request that was bound. */
  of: ContextOf;
}

/** An id that a proxy in front may choose; anything else could forge log lines. */
const REQUEST_ID = /^[\w.-]{1,64}$/;

export function createContexts({ clients, publicUrl, adminToken }: ContextOptions): Contexts {
  const contexts = new WeakMap<Request, RequestContext>();
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const nextId = createIds();
  const isAdminToken = isSecret(adminToken);

  /** What most requests never ask for is worked out when it is asked for. A class, as accessors of a literal cost ten times that. */
  class LazyContext implements RequestContext {
    readonly head: boolean;
    readonly id: string;
    readonly #request: Request;
    readonly #incoming: Request;
    readonly #peerOf: PeerOf;
    holder: RequestContext['holder'] = null;
    judgeToken: RequestContext['judgeToken'] = async () => {};
    #socketPeer: string | undefined;
    #peer: string | undefined;
    #bringsAdminToken: boolean | undefined;

    constructor(request: Request, incoming: Request, peerOf: PeerOf) {
      this.head = request.method === 'HEAD';
      this.#request = request;
      this.#incoming = incoming;
      this.#peerOf = peerOf;
      // Each look at a header costs, and if nobody is trusted there is no need of this one.
      const given = clients.trustNobody ? null : request.headers.get('x-request-id');
      const isGood = given !== null && REQUEST_ID.test(given) && clients.isTrusted(this.socketPeer);
      this.id = isGood ? given : nextId();
    }

    get socketPeer(): string {
      this.#socketPeer ??= this.#peerOf(this.#incoming);
      return this.#socketPeer;
    }

    get peer(): string {
      this.#peer ??= clients.addressOf(this.socketPeer, this.#request.headers);
      return this.#peer;
    }

    get identity(): string | null {
      return clients.identityOf(this.socketPeer, this.#request.headers);
    }

    get direct(): boolean {
      const isOwnName = (publicUrl === undefined || isLocal(publicUrl)) && isLocal(this.#request.url);
      return isOwnName && clients.isDirect(this.socketPeer, this.#request.headers);
    }

    get payer(): string {
      return this.holder ? `token ${this.holder.id}` : clientNetwork(this.peer);
    }

    get origin(): string {
      return publicOrigin ?? this.reachedAt;
    }

    get reachedAt(): string {
      return requestOrigin(this.#request, clients.isTrusted(this.socketPeer));
    }

    get admin(): boolean {
      this.#bringsAdminToken ??= isAdminToken(bearerOf(this.#request.headers.get('authorization')));
      return this.#bringsAdminToken || this.holder?.role === 'admin';
    }
  }

  return {
    adminIsSet: adminToken !== undefined,
    open: (request, incoming, peerOf) => new LazyContext(request, incoming, peerOf),
    bind: (request, context) => void contexts.set(request, context),
    of(request) {
      const context = contexts.get(request);
      if (!context) throw new Error('the request was not bound to a context');
      return context;
    },
  };
}

/** True for a URL of which the host names the machine itself. */
function isLocal(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** The token of a header `Authorization: Bearer`, or `null`. */
export function bearerOf(authorization: string | null): string | null {
  return authorization === null ? null : (/^Bearer (\S+)$/i.exec(authorization)?.[1] ?? null);
}

function requestOrigin(request: Request, trusted: boolean): string {
  const { protocol, host } = new URL(request.url);
  if (!trusted) return `${protocol}//${host}`;
  const { headers } = request;
  const scheme = nearest(headers.get('x-forwarded-proto'));
  const named = nearest(headers.get('x-forwarded-host'));
  const forwarded = `${scheme && /^https?$/i.test(scheme) ? `${scheme}:` : protocol}//${named ?? host}`;
  const isPlain = named === null || !/[\s/?#@\\]/.test(named);
  return isPlain && URL.canParse(forwarded) ? new URL(forwarded).origin : `${protocol}//${host}`;
}

/** The entry that the nearest proxy has added; those before it came from further away. */
function nearest(list: string | null): string | null {
  return list?.split(',').at(-1)?.trim() || null;
}

/** Random for the process, counted within it: unique, and cheap enough for every request. */
function createIds(): () => string {
  const prefix = randomBytes(6).toString('hex');
  let count = 0;
  return () => `${prefix}-${++count}`;
}
