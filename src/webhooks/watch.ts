import type { EventType } from './webhooks.ts';

/** What is watched of the proxy pool. */
export interface PoolState {
  alive: number;
  /** Before the first refresh an empty pool is no news. */
  refreshed: boolean;
  judges: 'unknown' | 'up' | 'down';
}

/** Compares the pool with how it was before, and tells what has changed. */
export type Watch = (state: PoolState) => void;

/** `low`: fewer working proxies than this are an event. The first look tells only what is wrong. */
export function createWatch(low: number, send: (type: EventType, data: object) => void): Watch {
  let wasLow = false;
  let wasDown = false;
  return ({ alive, refreshed, judges }) => {
    const isLow = refreshed && alive < low;
    if (isLow !== wasLow) send(isLow ? 'pool.low' : 'pool.recovered', { alive, threshold: low });
    wasLow = isLow;
    if (judges === 'unknown') return;
    const isDown = judges === 'down';
    if (isDown !== wasDown) send(isDown ? 'judge.down' : 'judge.up', {});
    wasDown = isDown;
  };
}
