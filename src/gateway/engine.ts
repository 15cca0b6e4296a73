import { siteOf } from '../proxy/targets/site.ts';
import type { Testimony, Witness } from '../proxy/targets/testimony.ts';
import type { Tcp, TcpSocket } from '../runtime/tcp.ts';
import type { Admission } from './admission.ts';
import type { Plan } from './attempt.ts';
import { createEvidence, type Evidence } from './evidence.ts';
import type { Hedges } from './hedges.ts';
import type { Lane, Member, Suits } from './lane.ts';
import type { Meter } from './meter.ts';
import { type OnEnd, type Race, type RaceOptions, race } from './race.ts';
import { type OnFound, raceForSession, raceInTurn, type Ways } from './session-race.ts';
import type { Session } from './sessions.ts';
import type { Target } from './target.ts';
import type { Failure, Kind, Upstream } from './upstream.ts';

export interface EngineOptions {
  tcp: Pick<Tcp, 'dial'>;
  /** What is known about which proxy reaches which site. */
  testimony: Testimony;
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
  admission: Pick<Admission, 'account' | 'suits' | 'sources' | 'session' | 'site'>;
  planFor: (upstream: Upstream) => Plan;
  /** Returns an open connection through the upstream to the target. */
  idleFor?: (upstream: Upstream) => TcpSocket | undefined;
  /** Whether several may be tried at once from the start. */
  wide: boolean;
}

/** Knows the upstreams and finds one that answers. */
export interface Engine {
  /** Returns what an account has seen of the upstreams. */
  evidenceOf(witness: Witness): Evidence;
  /** Notes that an upstream has failed after it was found. */
  failed(witness: Witness, kind: Kind, member: Member, why: Failure): void;
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
  const { tcp, testimony, random, monotonic, meter, tries, timeoutMs, onFailure } = options;
  const book = createEvidence({ testimony, random, monotonic });

  function widthFor(lane: Lane, hedge: Hedges): number {
    const wanted = lane.learned ? (lane.explores ? 2 : 1) : COLD_WIDTH;
    let width = 1;
    while (width < wanted && hedge.take()) width++;
    return width;
  }

  function contest({ kind, target, planFor, idleFor, admission }: Wish, limits: Limits, onEnd: OnEnd) {
    const { account } = admission;
    const evidence = book.of(account);
    const hedge = evidence.hedges[kind];
    const site = siteOf(target.host);
    return race(
      {
        ...limits,
        chance: evidence.chanceAt(admission.site ?? site, kind),
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
        onFailure(member, failure) {
          // Only a proxy that works elsewhere says something about the site.
          if (limits.lane.trusts(member.upstream)) evidence.reached(site, member.upstream.key, false);
          failed(account, kind, member, failure);
        },
      },
      (result, tried) => {
        // Equal alerts are the target's, but prove nothing of those that sent them.
        if (kind === 'plain')
          for (const { member, ms } of result?.alike ?? []) evidence.worked(kind, member, ms);
        onEnd(result, tried);
      },
    );
  }

  /** Races the upstreams of one group of lists after the other. */
  function findAny(wish: Wish, suits: Suits, onEnd: OnEnd): Race {
    const begin = (names: ReadonlySet<string> | null, ms: number, onGroupEnd: OnEnd) =>
      findAmong(wish, fromLists(names, suits), ms, onGroupEnd);
    return raceInTurn(wish.admission.sources ?? [null], timeoutMs, begin, onEnd);
  }

  /** Races all suitable upstreams. */
  function findAmong(wish: Wish, suits: Suits, timeoutMs: number, onEnd: OnEnd): Race {
    const { lanes, hedges } = book.of(wish.admission.account);
    const [lane, hedge] = [lanes[wish.kind], hedges[wish.kind]];
    hedge.request();
    const width = wish.wide ? widthFor(lane, hedge) : 1;
    return contest(wish, { lane, suits, width, tries, timeoutMs }, onEnd);
  }

  function findForSession(wish: Wish, session: Session, onFound: OnFound): Race {
    // An exit must carry whatever comes next.
    const suits: Suits = (upstream, kind) => upstream.carries.tunnel && wish.admission.suits(upstream, kind);
    const ways: Ways = {
      again(pinned, onEnd) {
        const { lanes } = book.of(wish.admission.account);
        const lane = [lanes[wish.kind], lanes.tunnel].find((one) => one.holds(pinned));
        if (lane === undefined) return null;
        const isPinned: Suits = ({ key }) => key === pinned;
        const limits = { width: 1, tries: 1, timeoutMs: timeoutMs * SESSION_SHARE };
        return contest(wish, { lane, suits: isPinned, ...limits }, onEnd);
      },
      findOther: (onEnd) => findAny(wish, suits, onEnd),
    };
    return raceForSession(session, ways, onFound);
  }

  function failed(witness: Witness, kind: Kind, member: Member, why: Failure): void {
    book.of(witness).failed(kind, member, why);
    meter.failed(kind, why);
    onFailure(member.upstream, why);
  }

  return {
    evidenceOf: book.of,
    failed,

    set(upstream) {
      for (const kind of ['tunnel', 'plain'] as const) {
        if (upstream.carries[kind]) book.rosters[kind].set(upstream);
        else book.rosters[kind].delete(upstream.key);
      }
    },

    delete(key) {
      book.rosters.tunnel.delete(key);
      book.rosters.plain.delete(key);
    },

    find(wish, onFound) {
      const { suits, session } = wish.admission;
      if (session) return findForSession(wish, session, onFound);
      return findAny(wish, suits, (result, tried) => onFound(result, tried, false));
    },
  };
}

/** Narrows upstreams to those of some lists; `null`: of all. */
function fromLists(names: ReadonlySet<string> | null, suits: Suits): Suits {
  return names === null ? suits : (upstream, kind) => names.has(upstream.source) && suits(upstream, kind);
}
