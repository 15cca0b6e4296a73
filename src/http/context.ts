import { randomBytes } from 'node:crypto';
import { clientNetwork } from '../lib/address.ts';
import { isSecret } from '../lib/secret.ts';
import type { Clients } from './client/clients.ts';
import { bearerOf } from './dialect.ts';
import type { RequestContext } from './request-context.ts';
import { isAuthority } from './target.ts';

interface ContextOptions {
  clients: Clients;
  publicUrl: string | undefined;
  adminToken: string | undefined;
}

/** Returns the peer address of a request's socket, as the runtime spells it. */
export type PeerOf = (request: Request) => string;

/** For requests that bring no token in their body. */
const judgeNothing: RequestContext['judgeToken'] = async () => {};

/** A valid ID from a reverse proxy. Anything else could forge log lines. */
const REQUEST_ID = /^[\w.-]{1,64}$/;

export function createContexts({ clients, publicUrl, adminToken }: ContextOptions) {
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const nextId = createIds();
  const isAdminToken = isSecret(adminToken);

  /**
   * Computes properties on demand, because most requests use few of them. A class, because accessors of an object
   * literal cost ten times as much.
   */
  class LazyContext implements RequestContext {
    readonly id: string;
    readonly #request: Request;
    readonly #incoming: Request;
    readonly #peerOf: PeerOf;
    holder: RequestContext['holder'] = null;
    judgeToken = judgeNothing;
    dialect: RequestContext['dialect'] = null;
    #socketPeer: string | undefined;
    #peer: string | undefined;
    #bringsAdminToken: boolean | undefined;

    constructor(request: Request, incoming: Request, peerOf: PeerOf) {
      this.#request = request;
      this.#incoming = incoming;
      this.#peerOf = peerOf;
      // Reading a header costs time, and this one is not needed if nobody is trusted.
      const given = clients.trustNobody ? null : request.headers.get('x-request-id');
      const isGood = given !== null && REQUEST_ID.test(given) && clients.isTrusted(this.socketPeer);
      this.id = isGood ? given : nextId();
    }

    get head(): boolean {
      return this.#request.method === 'HEAD';
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

    get moderates(): boolean {
      return this.admin || this.holder?.role === 'moderator';
    }

    get actor(): string {
      if (!this.moderates) return 'uploader';
      return this.holder?.name ?? 'administrator';
    }
  }

  return {
    /** True if `ADMIN_TOKEN` is set. */
    adminIsSet: adminToken !== undefined,
    /** Creates the context of a request that has just arrived as `incoming`. */
    open: (request: Request, incoming: Request, peerOf: PeerOf) => new LazyContext(request, incoming, peerOf),
  };
}

export type Contexts = ReturnType<typeof createContexts>;

/** Reports whether the host of a URL names this machine. */
export function isLocal(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

function requestOrigin(request: Request, trusted: boolean): string {
  const { protocol, host } = new URL(request.url);
  if (!trusted) return `${protocol}//${host}`;
  const { headers } = request;
  const scheme = nearest(headers.get('x-forwarded-proto'));
  const named = nearest(headers.get('x-forwarded-host'));
  if (named !== null && !isAuthority(named)) return `${protocol}//${host}`;
  return new URL(`${scheme && /^https?$/i.test(scheme) ? `${scheme}:` : protocol}//${named ?? host}`).origin;
}

/** Returns the entry of the nearest proxy. Earlier entries come from further away. */
function nearest(list: string | null): string | null {
  return list?.split(',').at(-1)?.trim() || null;
}

/** Creates unique IDs, random for the process and counted within it, which is cheap enough for every request. */
function createIds(): () => string {
  const prefix = randomBytes(6).toString('hex');
  let count = 0;
  return () => `${prefix}-${++count}`;
}
