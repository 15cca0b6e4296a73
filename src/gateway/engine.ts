import type { Bans } from '../proxy/targets/bans.ts';
import { siteOf } from '../proxy/targets/site.ts';
import type { Testimony, Witness } from '../proxy/targets/testimony.ts';
import type { Tcp, TcpSocket } from '../runtime/tcp.ts';
import type { Admission } from './admission.ts';
import type { Plan } from './attempt.ts';
import type { Canary } from './canary.ts';
import { createEvidence, type Evidence, type EvidenceBook } from './evidence.ts';
import type { Member, Suits } from './lane.ts';
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
  /** Which exits are shut out of which site. */
  bans: Bans;
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
  admission: Pick<Admission, 'account' | 'suits' | 'sources' | 'session' | 'site' | 'rotation'>;
  planFor: (upstream: Upstream) => Plan;
  /** Returns an open connection through the upstream to the target. */
  idleFor?: (upstream: Upstream) => TcpSocket | undefined;
  /** Returns a request that proves that an answer of the upstream is not its own. */
  canaryFor?: (upstream: Upstream) => Canary;
  /** Whether several may be tried at once. */
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
  exits: EvidenceBook['exits'];
  /** Returns all upstreams of a kind. */
  upstreams(kind: Kind): Iterable<Upstream>;
  find(wish: Wish, onFound: OnFound): Race;
}

/** Number of upstreams tried at once until enough was learnt. */
const COLD_WIDTH = 3;

/** How many usual times an unknown upstream has before a known one joins it: one that takes longer is hardly fit. */
const HEAD_START = 2;

/** The upstreams and limits of a race. */
type Limits = Pick<RaceOptions, 'lane' | 'suits' | 'width' | 'joinMs' | 'tries' | 'timeoutMs'> & {
  /** The session that needs an exit which no other has. */
  finder?: Session | undefined;
  /** The key of the only upstream that may be tried. */
  pinned?: string;
};

export function createEngine(options: EngineOptions): Engine {
  const { tcp, testimony, bans, random, monotonic, meter, tries, timeoutMs, onFailure } = options;
  const book = createEvidence({ testimony, bans, random, monotonic });

  function contest(wish: Wish, { finder, pinned, ...limits }: Limits, onEnd: OnEnd) {
    const { kind, target, planFor, idleFor, canaryFor, admission } = wish;
    const { account, rotation } = admission;
    const evidence = book.of(account);
    const hedge = evidence.hedges[kind];
    const site = siteOf(target.host);
    return race(
      {
        ...limits,
        leaning: {
          rotation,
          visits: evidence.visits(site),
          chance: evidence.chanceAt(admission.site ?? site, kind),
          avoid: evidence.avoidsAt(site, kind),
          taken: finder?.isTaken,
          pinned,
          // What is sent only once must not be lost to find out more.
          careful: !wish.wide,
        },
        tcp,
        target,
        planFor,
        idleFor,
        canaryFor,
        hedgeMs: hedge.afterMs(site),
        mayHedge: hedge.take,
        monotonic,
        onTry({ upstream }, hedged) {
          finder?.hold(upstream);
          meter.tried(kind);
          if (hedged) meter.hedged(kind);
        },
        onRefused: ({ upstream }) => evidence.refused(site, upstream),
        onFailure(member, failure) {
          // Only a proxy that works elsewhere says something about the site. Tunnels show no answers.
          if (kind === 'plain' && limits.lane.trusts(member.upstream))
            evidence.reached(site, member.upstream.key, false);
          failed(account, kind, member, failure);
        },
      },
      onEnd,
    );
  }

  /** Races the upstreams of one group of lists after the other. */
  function findAny(wish: Wish, suits: Suits, onEnd: OnEnd, finder?: Session): Race {
    const begin = (names: ReadonlySet<string> | null, ms: number, onGroupEnd: OnEnd) =>
      findAmong(wish, { suits: fromLists(names, suits), timeoutMs: ms, finder }, onGroupEnd);
    return raceInTurn(wish.admission.sources ?? [null], timeoutMs, begin, onEnd);
  }

  /** Races all suitable upstreams. */
  function findAmong(wish: Wish, among: Among, onEnd: OnEnd): Race {
    const { account, rotation } = wish.admission;
    const { lanes, hedges } = book.of(account);
    const [lane, hedge] = [lanes[wish.kind], hedges[wish.kind]];
    hedge.request();
    const limits = { ...among, lane, width: 1, tries };
    if (!lane.learned) return contest(wish, { ...limits, width: wish.wide ? COLD_WIDTH : 1 }, onEnd);
    if (among.finder || !lane.explores(rotation)) return contest(wish, limits, onEnd);
    // Another tunnel costs the target nothing; a second request does.
    const joinMs =
      wish.kind === 'tunnel' && wish.wide
        ? HEAD_START * hedge.usualMs
        : hedge.afterMs(siteOf(wish.target.host));
    return contest(wish, { ...limits, joinMs }, onEnd);
  }

  function findForSession(wish: Wish, session: Session, onFound: OnFound): Race {
    // An exit must carry whatever comes next.
    const suits: Suits = (upstream, kind) => upstream.carries.tunnel && wish.admission.suits(upstream, kind);
    const ways: Ways = {
      again(pinned, onEnd) {
        const { lanes } = book.of(wish.admission.account);
        const lane = [lanes[wish.kind], lanes.tunnel].find((one) => one.holds(pinned));
        if (lane === undefined) return null;
        return contest(wish, { lane, pinned, suits, width: 1, tries: 1, timeoutMs }, onEnd);
      },
      limitMs: timeoutMs,
      findOther: (onEnd) => findAny(wish, suits, onEnd, session),
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

    set: book.set,
    delete: book.delete,
    exits: book.exits,
    upstreams: (kind) => book.rosters[kind],
    find(wish, onFound) {
      const { suits, session } = wish.admission;
      if (session) return findForSession(wish, session, onFound);
      return findAny(wish, suits, (result, tried) => onFound(result, tried, false));
    },
  };
}

/** The upstreams of a race, its limit in ms, and the session that looks for an exit. */
type Among = Pick<Limits, 'suits' | 'timeoutMs' | 'finder'>;

/** Narrows upstreams to those of some lists; `null`: of all. */
function fromLists(names: ReadonlySet<string> | null, suits: Suits): Suits {
  return names === null ? suits : (upstream, kind) => names.has(upstream.source) && suits(upstream, kind);
}
