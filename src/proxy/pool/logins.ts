import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Login } from '../login.ts';
import { type Endpoint, formatAddress } from '../proxy.ts';

/** Maximum number of logins remembered, which take some 20 MB. */
const MOST = 100_000;

type Place = Pick<Endpoint, 'ip' | 'port'>;

/**
 * Returns a function that reports whether an address was listed before with another login, in one reading of the lists.
 * The pool has the first of them; the others are paid upstreams.
 */
export function createOtherLogins(): (ip: string, port: number, login: Login) => boolean {
  const first = new Map<string, Login>();
  return (ip, port, login) => {
    const key = formatAddress({ ip, port });
    const known = first.get(key);
    if (known === undefined) first.set(key, login);
    return known !== undefined && known !== login;
  };
}

export function createLogins() {
  const logins = new BoundedMap<string, Login>(MOST);
  return {
    /** Records a login from a list. Returns true if it is new. */
    offer(place: Place, login: Login): boolean {
      const key = formatAddress(place);
      if (logins.get(key) === login) return false;
      logins.set(key, login);
      return true;
    },
    of: (place: Place) => logins.get(formatAddress(place)) ?? null,
  };
}

/** The logins that the operator's lists give for proxies: the same for all protocols of a port. */
export type Logins = ReturnType<typeof createLogins>;
