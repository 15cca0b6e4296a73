import type { Login } from './http-request.ts';
import type { Suits } from './lane.ts';

/** Who was let in, and what they want of the upstreams. */
export interface Admission {
  /** Whom limits count for. */
  user: string;
  suits: Suits;
}

/**
 * Lets a client in, or throws (or rejects with) a `GatewayFault`. It answers without a promise where it can.
 */
export type Admit = (login: Login | null, peer: string) => Admission | Promise<Admission>;
