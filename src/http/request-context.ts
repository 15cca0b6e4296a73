import type { Dialect } from './dialect.ts';

/** What the server knows about a request besides the request itself. */
export interface RequestContext {
  /** True for HEAD, which routes see as GET. */
  readonly head: boolean;
  /** The request ID, which is sent as `X-Request-Id`, in errors and in the log. */
  id: string;
  /** The client's address: canonical text, `::ffff:` unmapped, `TRUSTED_PROXIES` applied. */
  peer: string;
  /**
   * The same address if it gives rights; `null` if it may be shared, as behind a reverse proxy that no setting names.
   * Must be read before the body, because the connection may be gone afterwards.
   */
  identity: string | null;
  /** Scheme and host under which the client reached the server, without a path. */
  origin: string;
  /** The same as the request names it, regardless of `PUBLIC_URL`. */
  reachedAt: string;
  /**
   * True for a visitor on this machine who, as far as anything shows, is connected directly. Never a reason to allow
   * a change.
   */
  direct: boolean;
  /** True if the request has `ADMIN_TOKEN`, or an administrator's token. */
  admin: boolean;
  /** The holder of the request's token, once identified; `null` without a token. */
  holder: {
    id: string;
    role: 'upload' | 'admin' | 'moderator' | 'gateway';
    name: string;
    /** Counts bytes of which the request did not tell. Rejects with `rate_limited` beyond the quota. */
    countBytes(bytes: number): Promise<void>;
  } | null;
  /** True if the request may act on others' pictures: as `admin`, or with a moderator's token. */
  readonly moderates: boolean;
  /** Who acts, for the audit log: `administrator`, the name of such a token, or `uploader`. */
  readonly actor: string;
  /**
   * Checks a token from the body, or `null`, for routes whose clients send it there. Rejects as if it had been in a
   * header.
   */
  judgeToken(token: string | null): Promise<void>;
  /** How to refuse a client that only its form shows to be another service's. Default: as the route says. */
  dialect: Dialect | null;
  /** Whose budget the request uses: the name of its token, or the client's network. */
  payer: string;
}
