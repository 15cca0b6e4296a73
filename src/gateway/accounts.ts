import { BoundedMap } from '../lib/bounded-map.ts';
import type { Bucket, RateLimiter } from '../lib/rate-limiter.ts';
import type { Witness } from '../proxy/targets/testimony.ts';
import { GatewayFault } from './fault.ts';

/** Counts the usage of a token or an address. */
export interface Account extends Witness {
  /** Adds a connection. Throws `too_many_connections`. */
  enter(): void;
  leave(): void;
  /** Rejects with `too_many_connections` while the quota is used up. */
  demandQuota(): Promise<void>;
  /** Counts bytes. Returns false once the quota is used up. */
  spend(bytes: number): boolean;
}

interface AccountsOptions {
  limiter: Pick<RateLimiter, 'take'>;
  /** Maximum number of connections of one user. */
  connections: number;
  /** Called with the bytes of a user as they pass. */
  onBytes?: (user: string, bytes: number) => void;
}

export interface Accounts {
  /**
   * Returns the account of a user; `quota`: bytes in a period, `null` without a limit. `speaksForAll`: what it sees of
   * upstreams counts for all.
   */
  of(user: string, quota: Bucket | null, speaksForAll?: boolean): Account;
}

/** Bytes are taken from the quota in steps of this size, because all copies of the server share it. */
const STEP = 1024 * 1024;
/** Above this number, the user who was admitted longest ago is forgotten. */
const MOST_USERS = 10_000;

export function createAccounts({ limiter, connections, onBytes }: AccountsOptions): Accounts {
  const accounts = new BoundedMap<
    string,
    { open: number; paid: number; empty: boolean; asking: Promise<void> | null }
  >(MOST_USERS);

  return {
    of(user, quota, speaksForAll = false) {
      const account = accounts.get(user) ?? { open: 0, paid: 0, empty: false, asking: null };
      accounts.set(user, account);

      function pay(bucket: Bucket): Promise<void> {
        account.asking ??= take(bucket).finally(() => {
          account.asking = null;
        });
        return account.asking;
      }

      async function take(bucket: Bucket): Promise<void> {
        const step = Math.min(STEP, bucket.capacity);
        try {
          const { allowed } = await limiter.take(`gateway-bytes ${user}`, bucket, step);
          account.empty = !allowed;
          if (allowed) account.paid += step;
        } catch {
          // A store that does not respond must not cut tunnels.
        }
      }

      return {
        id: user,
        speaksForAll,
        enter() {
          if (account.open >= connections) {
            throw new GatewayFault(
              'too_many_connections',
              `${connections} connections are open already, the limit of GATEWAY_CONNECTIONS.`,
            );
          }
          account.open++;
        },
        leave() {
          account.open--;
        },
        async demandQuota() {
          if (quota !== null && account.paid <= 0) await pay(quota);
          if (account.empty)
            throw new GatewayFault(
              'too_many_connections',
              'The quota of this token is used up: --quota of picpool token create.',
            );
        },
        spend(bytes) {
          onBytes?.(user, bytes);
          if (quota === null) return true;
          account.paid -= bytes;
          if (account.paid <= 0) pay(quota);
          return !account.empty;
        },
      };
    },
  };
}
