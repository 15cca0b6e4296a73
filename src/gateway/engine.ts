import type { Tcp } from '../runtime/tcp.ts';
import type { Plan } from './attempt.ts';
import { createHedges, type Hedges } from './hedges.ts';
import { Lane, type Suits } from './lane.ts';
import type { Meter } from './meter.ts';
import { type Race, type RaceResult, race } from './race.ts';
import type { Target } from './target.ts';
import type { Failure, Kind, Upstream } from './upstream.ts';

export interface EngineOptions {
  tcp: Pick<Tcp, 'dial'>;
  /** Most upstreams that are tried for one request. */
  tries: number;
  /** Until then there must be an answer. */
  timeoutMs: number;
  /** 0 to 1. */
  random: () => number;
  monotonic: () => number;
  meter: Meter;
  /** An upstream has failed; whoever checks it may want to know. */
  onFailure: (upstream: Upstream, failure: Failure) => void;
}

export interface Wish {
  kind: Kind;
  target: Target;
  suits: Suits;
  planFor: (upstream: Upstream) => Plan;
  /** Several may be tried at once from the start. */
  wide: boolean;
}

/** Knows the upstreams and finds one that answers. */
export interface Engine {
  readonly lanes: Record<Kind, Lane>;
  /** Adds an upstream, or replaces what is known of it. */
  set(upstream: Upstream): void;
  delete(key: string): void;
  find(wish: Wish, onEnd: (result: RaceResult | null, tries: number) => void): Race;
}

/** While nothing is learned, so many are tried at once. */
const COLD_WIDTH = 3;

export function createEngine(options: EngineOptions): Engine {
  const { tcp, random, monotonic, meter, tries, timeoutMs, onFailure } = options;
  const lanes = {
    tunnel: new Lane({ kind: 'tunnel', random, monotonic }),
    plain: new Lane({ kind: 'plain', random, monotonic }),
  };
  const hedges: Record<Kind, Hedges> = { tunnel: createHedges(), plain: createHedges() };

  function widthFor(lane: Lane, hedge: Hedges): number {
    const wanted = lane.learned ? (lane.explores ? 2 : 1) : COLD_WIDTH;
    let width = 1;
    while (width < wanted && hedge.take()) width++;
    return width;
  }

  return {
    lanes,

    set(upstream) {
      for (const kind of ['tunnel', 'plain'] as const) {
        if (upstream.carries[kind]) lanes[kind].set(upstream);
        else lanes[kind].delete(upstream.key);
      }
    },

    delete(key) {
      lanes.tunnel.delete(key);
      lanes.plain.delete(key);
    },

    find({ kind, target, suits, planFor, wide }, onEnd) {
      const lane = lanes[kind];
      const hedge = hedges[kind];
      hedge.request();
      const startedAt = monotonic();
      return race(
        {
          tcp,
          lane,
          target,
          suits,
          planFor,
          width: wide ? widthFor(lane, hedge) : 1,
          tries,
          hedgeMs: hedge.afterMs,
          mayHedge() {
            const may = hedge.take();
            if (may) meter.hedged(kind);
            return may;
          },
          timeoutMs,
          monotonic,
          onTry: () => meter.tried(kind),
          onFailure(upstream, failure) {
            meter.failed(kind, failure);
            onFailure(upstream, failure);
          },
        },
        (result, tried) => {
          if (result) hedge.observe(monotonic() - startedAt);
          onEnd(result, tried);
        },
      );
    },
  };
}
