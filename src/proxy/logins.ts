import { BoundedMap } from '../lib/bounded-map.ts';
import type { Login } from './login.ts';
import { type Endpoint, formatAddress } from './proxy.ts';

/** Most logins that are remembered: some 20 MB. */
const MOST = 100_000;

type Place = Pick<Endpoint, 'ip' | 'port'>;

/** What the operator's lists say of proxies that ask for a login: the same for all protocols of one port. */
export interface Logins {
  /** Notes a login as a list names it. True if that is news. */
  offer(place: Place, login: Login): boolean;
  of(place: Place): Login | null;
}

export function createLogins(): Logins {
  const logins = new BoundedMap<string, Login>(MOST);
  return {
    offer(place, login) {
      const key = formatAddress(place);
      if (logins.get(key) === login) return false;
      logins.set(key, login);
      return true;
    },
    of: (place) => logins.get(formatAddress(place)) ?? null,
  };
}
