import type { Bucket, RateLimiter } from '../lib/rate-limiter.ts';
import type { Witness } from '../proxy/targets/testimony.ts';
import { GatewayFault } from './fault.ts';

export interface AccountOptions {
  limiter: Pick<RateLimiter, 'take'>;
  /** Maximum number of connections of one user. */
  connections: number;
  /** Called with the bytes of a user as they pass. */
  onBytes?: (user: string, bytes: number) => void;
}

/** Bytes are taken from the quota in steps of this size, because all copies of the server share it. */
const STEP = 1024 * 1024;

/** Counts the usage of a token or an address. */
export class Account implements Witness {
  readonly id: string;
  speaksForAll = false;
  /** Bytes in a period; `null` without a limit. */
  quota: Bucket | null = null;
  readonly #options: AccountOptions;
  #open = 0;
  #paid = 0;
  /** How long the quota stays used up, in ms; `null` while it is not. */
  #emptyMs: number | null = null;
  #asking: Promise<void> | null = null;

  constructor(id: string, options: AccountOptions) {
    this.id = id;
    this.#options = options;
  }

  /** Adds a connection. Throws `too_many_connections`. */
  enter(): void {
    const { connections } = this.#options;
    if (this.#open >= connections) {
      throw new GatewayFault(
        'too_many_connections',
        `${connections} connections are open already, the limit of GATEWAY_CONNECTIONS.`,
      );
    }
    this.#open++;
  }

  leave(): void {
    this.#open--;
  }

  /** Rejects with `too_many_connections` while the quota is used up. */
  async demandQuota(): Promise<void> {
    if (this.quota !== null && this.#paid <= 0) await this.#pay(this.quota);
    if (this.quota === null || this.#emptyMs === null) return;
    const said = 'The quota of this token is used up: --quota of picpool token create.';
    throw new GatewayFault('too_many_connections', said, this.#emptyMs);
  }

  /** Counts bytes. Returns false once the quota is used up. */
  spend(bytes: number): boolean {
    this.#options.onBytes?.(this.id, bytes);
    if (this.quota === null) return true;
    this.#paid -= bytes;
    if (this.#paid <= 0) this.#pay(this.quota);
    return this.#emptyMs === null;
  }

  #pay(quota: Bucket): Promise<void> {
    this.#asking ??= this.#take(quota).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #take(quota: Bucket): Promise<void> {
    const { limiter } = this.#options;
    const step = Math.min(STEP, quota.capacity);
    try {
      const { allowed, retryAfterMs } = await limiter.take(`gateway-bytes ${this.id}`, quota, step);
      this.#emptyMs = allowed ? null : retryAfterMs;
      if (allowed) this.#paid += step;
    } catch {
      // A store that does not respond must not cut tunnels.
    }
  }
}
