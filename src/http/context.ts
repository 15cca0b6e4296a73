import { randomBytes } from 'node:crypto';
import { clientNetwork } from '../lib/address.ts';
import { isSecret } from '../lib/secret.ts';
import type { Clients } from './client/clients.ts';
import { bearerOf, type Dialect } from './dialect.ts';
import { isAuthority } from './target.ts';

/** Returns the peer address of a request's socket, as the runtime spells it. */
export type PeerOf = (request: Request) => string;

/** Who holds a token. */
interface Holder {
  id: string;
  role: 'upload' | 'admin' | 'moderator' | 'gateway';
  name: string;
  /** Counts bytes of which the request did not tell. Rejects with `rate_limited` beyond the quota. */
  countBytes(bytes: number): Promise<void>;
}

/** For requests that bring no token in their body. */
const judgeNothing = async (_token: string | null): Promise<void> => {};

/** A valid ID from a reverse proxy. Anything else could forge log lines. */
const REQUEST_ID = /^[\w.-]{1,64}$/;

/** What all contexts of a server are made from. */
interface Server {
  clients: Clients;
  publicUrl: string | undefined;
  publicOrigin: string | undefined;
  isAdminToken: (text: string | null) => boolean;
  nextId: () => string;
}

/**
 * What the server knows about a request besides the request itself. Computes properties on demand, because most requests
 * use few of them. A class, because accessors of an object literal cost ten times as much.
 */
export class RequestContext {
  readonly #server: Server;
  /** The request ID, which is sent as `X-Request-Id`, in errors and in the log. */
  readonly id: string;
  readonly #request: Request;
  readonly #incoming: Request;
  readonly #peerOf: PeerOf;
  /** The holder of the request's token, once identified; `null` without a token. */
  holder: Holder | null = null;
  /**
   * Checks a token from the body, or `null`, for routes whose clients send it there. Rejects as if it had been in a
   * header.
   */
  judgeToken = judgeNothing;
  /** How to refuse a client that only its form shows to be another service's. Default: as the route says. */
  dialect: Dialect | null = null;
  #socketPeer: string | undefined;
  #peer: string | undefined;
  #bringsAdminToken: boolean | undefined;

  constructor(server: Server, request: Request, incoming: Request, peerOf: PeerOf) {
    this.#server = server;
    this.#request = request;
    this.#incoming = incoming;
    this.#peerOf = peerOf;
    const { clients, nextId } = server;
    // Reading a header costs time, and this one is not needed if nobody is trusted.
    const given = clients.trustNobody ? null : request.headers.get('x-request-id');
    const isGood = given !== null && REQUEST_ID.test(given) && clients.isTrusted(this.socketPeer);
    this.id = isGood ? given : nextId();
  }

  /** True for HEAD, which routes see as GET. */
  get head(): boolean {
    return this.#request.method === 'HEAD';
  }

  get socketPeer(): string {
    this.#socketPeer ??= this.#peerOf(this.#incoming);
    return this.#socketPeer;
  }

  /** The client's address: canonical text, `::ffff:` unmapped, `TRUSTED_PROXIES` applied. */
  get peer(): string {
    this.#peer ??= this.#server.clients.addressOf(this.socketPeer, this.#request.headers);
    return this.#peer;
  }

  /**
   * The same address if it gives rights; `null` if it may be shared, as behind a reverse proxy that no setting names.
   * Must be read before the body, because the connection may be gone afterwards.
   */
  get identity(): string | null {
    return this.#server.clients.identityOf(this.socketPeer, this.#request.headers);
  }

  /**
   * True for a visitor on this machine who, as far as anything shows, is connected directly. Never a reason to allow
   * a change.
   */
  get direct(): boolean {
    const { publicUrl, clients } = this.#server;
    const isOwnName = (publicUrl === undefined || isLocal(publicUrl)) && isLocal(this.#request.url);
    return isOwnName && clients.isDirect(this.socketPeer, this.#request.headers);
  }

  /** Whose budget the request uses: the name of its token, or the client's network. */
  get payer(): string {
    return this.holder ? `token ${this.holder.id}` : clientNetwork(this.peer);
  }

  /** Scheme and host under which the client reached the server, without a path. */
  get origin(): string {
    return this.#server.publicOrigin ?? this.reachedAt;
  }

  /** The same as the request names it, regardless of `PUBLIC_URL`. */
  get reachedAt(): string {
    return requestOrigin(this.#request, this.#server.clients.isTrusted(this.socketPeer));
  }

  /** True if the request has `ADMIN_TOKEN`, or an administrator's token. */
  get admin(): boolean {
    this.#bringsAdminToken ??= this.#server.isAdminToken(
      bearerOf(this.#request.headers.get('authorization')),
    );
    return this.#bringsAdminToken || this.holder?.role === 'admin';
  }

  /** True if the request may act on others' pictures: as `admin`, or with a moderator's token. */
  get moderates(): boolean {
    return this.admin || this.holder?.role === 'moderator';
  }

  /** Who acts, for the audit log: `administrator`, the name of such a token, or `uploader`. */
  get actor(): string {
    if (!this.moderates) return 'uploader';
    return this.holder?.name ?? 'administrator';
  }
}

interface ContextOptions extends Pick<Server, 'clients' | 'publicUrl'> {
  adminToken: string | undefined;
}

export function createContexts({ clients, publicUrl, adminToken }: ContextOptions) {
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const isAdminToken = isSecret(adminToken);
  const server = { clients, publicUrl, publicOrigin, isAdminToken, nextId: createIds() };
  return {
    /** True if `ADMIN_TOKEN` is set. */
    adminIsSet: adminToken !== undefined,
    /** Creates the context of a request that has just arrived as `incoming`. */
    open: (request: Request, incoming: Request, peerOf: PeerOf) =>
      new RequestContext(server, request, incoming, peerOf),
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
