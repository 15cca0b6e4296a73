import { AppError } from '../errors.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Bucket } from '../lib/rate-limiter.ts';
import type { LoginParts } from '../proxy/login.ts';
import { Account, type AccountOptions } from './account.ts';
import { GatewayFault } from './fault.ts';
import type { Rotation, Suits } from './lane.ts';
import type { Session, Sessions } from './sessions.ts';
import { type Names, readUser, type UserOptions } from './user-options.ts';

/** An admitted client, and its requirements for upstreams. */
export interface Admission {
  account: Account;
  suits: Suits;
  /** Groups of lists in order: upstreams of the next only if none of the first answers. Default: all at once. */
  sources?: readonly ReadonlySet<string>[] | undefined;
  session: Session | null;
  rotation: Rotation;
  /** The site whose results decide on the choice; `null`: that of the target. */
  site: string | null;
  /** Resolves with false once its token was revoked. Default: it has none. */
  stands?: () => Promise<boolean>;
}

/**
 * Admits a client, or throws (or rejects with) a `GatewayFault`. Returns without a promise if possible. `fixed`: options
 * of the port, which take precedence. Default: none.
 */
export type Admit = (
  login: LoginParts | null,
  peer: string,
  fixed?: string,
) => Admission | Promise<Admission>;

/** What the gateway needs to know about a token. */
interface Pass {
  id: string;
  rate: Bucket | null;
  quota: Bucket | null;
}

interface AdmitOptions extends AccountOptions {
  /** Returns true while no login is needed. */
  isOpen: () => boolean;
  /** Ask for a login even then, except on ports with options. Default: false. */
  asks?: boolean;
  /** Returns the facts of a token that opens the gateway, or `null`. */
  verify: (token: string) => Promise<Pass | null>;
  /** Limits wrong tokens of a client: throws or rejects with `rate_limited`. Default: no limit. */
  calm?: { demandCalm(peer: string, token: string): void; countWrong(peer: string): Promise<void> };
  sessions: Sessions;
  names: Names;
}

/** Above this number, the user who was admitted longest ago is forgotten. */
const MOST_USERS = 10_000;

/** Reads logins: the password is a token, and the user name contains options. */
export function createAdmit(settings: AdmitOptions): Admit {
  const { isOpen, asks, verify, calm, limiter, sessions, names } = settings;

  const accounts = new BoundedMap<string, Account>(MOST_USERS);

  function admission(id: string, quota: Bucket | null, options: UserOptions, isOwn = false): Admission {
    const { session, sessionMs, sessionLock: locked } = options;
    const account = accounts.get(id) ?? new Account(id, settings);
    accounts.set(id, account);
    return {
      account: Object.assign(account, { quota, speaksForAll: isOwn }),
      suits: narrowed(options),
      sources: options.sources,
      site: options.site ?? null,
      rotation: options.rotation ?? 'spread',
      session: session === undefined ? null : sessions.open(id, session, { sessionMs, locked }),
    };
  }

  async function passOf(token: string, peer: string): Promise<Pass> {
    calm?.demandCalm(peer, token);
    const pass = await verify(token);
    if (pass === null) {
      await calm?.countWrong(peer);
      throw new GatewayFault('login_required', 'The password must be a token of the role gateway.');
    }
    if (pass.rate === null) return pass;
    const { allowed, retryAfterMs } = await limiter.take(`gateway ${pass.id}`, pass.rate);
    if (allowed) return pass;
    const said = 'The rate of this token is used up: --rate of picpool token create.';
    throw new GatewayFault('too_many_connections', said, retryAfterMs);
  }

  async function withToken(login: LoginParts, optionsOf: () => UserOptions, peer: string) {
    const pass = await passOf(login.password, peer).catch((error: unknown) => {
      if (error instanceof GatewayFault) throw error;
      if (error instanceof AppError && error.code === 'rate_limited')
        throw new GatewayFault('too_many_connections', error.message, error.retryAfterMs);
      throw new GatewayFault('unavailable', 'Tokens cannot be checked at the moment; try again later.');
    });
    const admitted = admission(pass.id, pass.quota, optionsOf());
    await admitted.account.demandQuota();
    // A store that does not respond must not cut tunnels.
    const stands = async () => (await verify(login.password).catch(() => pass)) !== null;
    return { ...admitted, stands };
  }

  return (login, peer, fixed) => {
    const optionsOf = () => readUser(login?.user ?? '', names, fixed);
    // Without tokens only this machine can connect, which is the operator's.
    if (isOpen()) {
      if (login !== null || !asks || fixed) return admission(peer, null, optionsOf(), true);
      throw new GatewayFault('login_required', 'Log in: options as user, and any password.');
    }
    if (!login?.password) {
      throw new GatewayFault(
        'login_required',
        'Log in: any user, and a token of the role gateway as password.',
      );
    }
    return withToken(login, optionsOf, peer);
  };
}

function narrowed(options: UserOptions): Suits {
  const { countries, notCountries, anonymity, maxLatencyMs, sources, session } = options;
  if (!(countries || notCountries || anonymity || maxLatencyMs || sources)) return () => true;
  return (upstream, kind, isOwn = false) =>
    (sources === undefined || sources.some((names) => names.has(upstream.source))) &&
    (countries === undefined || countries.includes(upstream.country)) &&
    !notCountries?.includes(upstream.country) &&
    // The exit of a session must suit whatever comes next.
    (anonymity === undefined || upstream.anonymity[session === undefined ? kind : 'plain'] === anonymity) &&
    (isOwn ||
      maxLatencyMs === undefined ||
      (upstream.latencyMs !== null && upstream.latencyMs <= maxLatencyMs));
}
