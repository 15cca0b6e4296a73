import { siteOf } from '../proxy/targets/site.ts';
import type { Sites } from '../proxy/targets/sites.ts';
import type { Tcp, TcpSocket } from '../runtime/tcp.ts';
import type { Admission } from './admission.ts';
import type { Plan } from './attempt.ts';
import { createHedges, type Hedges } from './hedges.ts';
import { Lane, type Suits } from './lane.ts';
import type { Meter } from './meter.ts';
import { type OnEnd, type Race, type RaceOptions, race } from './race.ts';
import { type OnFound, raceForSession, type Ways } from './session-race.ts';
import type { Session } from './sessions.ts';
import type { Target } from './target.ts';
import type { Failure, Kind, Upstream } from './upstream.ts';

export interface EngineOptions {
  tcp: Pick<Tcp, 'dial'>;
  /** What is known about which proxy reaches which site. */
  sites: Sites;
  /** Maximum number of upstreams tried for one request. */
  tries: number;
  /** Time limit for an answer. */
  timeoutMs: number;
  /** 0 to 1. */
  random: () => number;
  monotonic: () => number;
  meter: Meter;
  /** Called when an upstream has failed, so that it can be checked. */
  onFailure: (upstream: Upstream, failure: Failure) => void;
}

interface Wish {
  kind: Kind;
  target: Target;
  admission: Pick<Admission, 'suits' | 'session' | 'site'>;
  planFor: (upstream: Upstream) => Plan;
  /** Returns an open connection through the upstream to the target. */
  idleFor?: (upstream: Upstream) => TcpSocket | undefined;
  /** Whether several may be tried at once from the start. */
  wide: boolean;
}

/** Knows the upstreams and finds one that answers. */
export interface Engine {
  readonly lanes: Record<Kind, Lane>;
  readonly sites: Sites;
  /** Adds an upstream, or replaces what is known about it. */
  set(upstream: Upstream): void;
  delete(key: string): void;
  find(wish: Wish, onFound: OnFound): Race;
}

/** Number of upstreams tried at once until enough was learnt. */
const COLD_WIDTH = 3;
/** Share of the time limit for the exit of a session, so that another one can still be found. */
const SESSION_SHARE = 0.5;

/** The upstreams and limits of a race. */
type Limits = Pick<RaceOptions, 'lane' | 'suits' | 'width' | 'tries' | 'timeoutMs'>;

export function createEngine(options: EngineOptions): Engine {
  const { tcp, sites, random, monotonic, meter, tries, timeoutMs, onFailure } = options;
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

  function contest({ kind, target, planFor, idleFor, admission }: Wish, limits: Limits, onEnd: OnEnd) {
    const hedge = hedges[kind];
    const startedAt = monotonic();
    return race(
      {
        site: admission.site ?? siteOf(target.host),
        sites,
        lane: limits.lane,
        suits: limits.suits,
        width: limits.width,
        tries: limits.tries,
        timeoutMs: limits.timeoutMs,
        tcp,
        target,
        planFor,
        idleFor,
        hedgeMs: hedge.afterMs,
        mayHedge: hedge.take,
        monotonic,
        onTry(hedged) {
          meter.tried(kind);
          if (hedged) meter.hedged(kind);
        },
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
  }

  /** Races all suitable upstreams. */
  function findAny(wish: Wish, suits: Suits, onEnd: OnEnd): Race {
    const lane = lanes[wish.kind];
    const hedge = hedges[wish.kind];
    hedge.request();
    const width = wish.wide ? widthFor(lane, hedge) : 1;
    return contest(wish, { lane, suits, width, tries, timeoutMs }, onEnd);
  }

  function findForSession(wish: Wish, session: Session, onFound: OnFound): Race {
    // An exit must carry whatever comes next.
    const suits: Suits = (upstream, kind) => upstream.carries.tunnel && wish.admission.suits(upstream, kind);
    const ways: Ways = {
      again(pinned, onEnd) {
        const lane = [lanes[wish.kind], lanes.tunnel].find(({ members }) => members.has(pinned));
        if (lane === undefined) return null;
        const isPinned: Suits = ({ key }) => key === pinned;
        const limits = { width: 1, tries: 1, timeoutMs: timeoutMs * SESSION_SHARE };
        return contest(wish, { lane, suits: isPinned, ...limits }, onEnd);
      },
      findOther: (onEnd) => findAny(wish, suits, onEnd),
    };
    return raceForSession(session, ways, onFound);
  }

  return {
    lanes,
    sites,

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

    find(wish, onFound) {
      const { suits, session } = wish.admission;
      if (session) return findForSession(wish, session, onFound);
      return findAny(wish, suits, (result, tried) => onFound(result, tried, false));
    },
  };
}
