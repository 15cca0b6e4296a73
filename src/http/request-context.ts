/** What the server knows about a request besides the request itself. */
export interface RequestContext {
  /** True for HEAD, which routes see as GET. */
  head: boolean;
  /** The request id: echoed as `X-Request-Id`, in errors and in the log. */
  id: string;
  /** The client's address: canonical text, `::ffff:` unmapped, `TRUSTED_PROXIES` applied. */
  peer: string;
  /**
   * That address where it gives rights: `null` if others may share it, as behind a proxy that no setting names. Asked for
   * before the body is read: the connection may be gone afterwards.
   */
  identity: string | null;
  /** Scheme and host under which the client reached the server, without a path. */
  origin: string;
  /** The same as the request names it, whatever `PUBLIC_URL` says. */
  reachedAt: string;
  /** True for a visitor on this machine with nothing in between, as far as anything tells. Never a reason to allow a change. */
  direct: boolean;
  /** True if the request carries `ADMIN_TOKEN`, or a token of an administrator. */
  admin: boolean;
  /** Whose token the request carries, once it is known; `null` for none. */
  holder: { id: string; role: 'upload' | 'admin' | 'gateway' } | null;
  /**
   * Judges a token that stood in the body, `null` for none, for routes whose clients send it there. Rejects as the request would have
   * been refused, had it come in a header.
   */
  judgeToken(token: string | null): Promise<void>;
  /** Whose budget the request uses: the name of its token, or the network of the client. */
  payer: string;
}

export type ContextOf = (request: Request) => RequestContext;
