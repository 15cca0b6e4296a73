import type { CheckError, Protocol } from '../../../src/proxy/proxy.ts';
import type { FarmClient } from './client.ts';

/** A way to behave as a proxy. */
export interface Role {
  /** As which it is listed. */
  protocol: Protocol;
  /** What a checker must say of it, when its judge proves its answers. */
  expected: 'alive' | CheckError;
  /** Deals with one connection. It may reject when the checker leaves. */
  play(client: FarmClient): void | Promise<void>;
}

const listedAs =
  (protocol: Protocol) =>
  (expected: Role['expected'], play: Role['play']): Role => ({ protocol, expected, play });

/** What is listed as a proxy of this protocol, ends like this for a checker, and plays like this. */
export const http = listedAs('http');
export const https = listedAs('https');
export const socks4 = listedAs('socks4');
export const socks5 = listedAs('socks5');
