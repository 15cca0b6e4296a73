import { connectHttp } from '../proxy/check/exchange.ts';
import { CheckFault } from '../proxy/check/fault.ts';
import { Inbox } from '../proxy/check/inbox.ts';
import { connectSocks4, connectSocks5, greetSocks5 } from '../proxy/check/socks.ts';
import { asBuffer, NOBODY, type Tcp, type TcpListener, type TcpSocket } from '../runtime/tcp.ts';
import type { Member } from './lane.ts';
import type { Target } from './target.ts';
import type { Failure, Upstream } from './upstream.ts';

/** The judgement on the first bytes of an answer. */
export type Verdict = 'more' | 'good' | { doubt: Doubt } | { failure: Failure };

/** What answers of one target have in common. Two equal ones from different proxies are the target's. */
export interface Doubt {
  /** For an HTTP answer, it begins with the status. */
  look: string;
  /** Whether it may be an answer that the proxy gives to everything. */
  mayBeOwn: boolean;
  /** Whether the site may refuse this exit alone. */
  refusal: boolean;
}

export interface Plan {
  /** Whether to ask the upstream for a tunnel first. */
  tunnel: boolean;
  /** What to send first: a ClientHello or a request. `null`: an established connection is enough. */
  payload: Uint8Array | null;
  /** What is doubtful about an upstream to which nothing is sent first. Default: nothing. */
  doubt?: Doubt | undefined;
  /** Called with all bytes of the answer whenever more have arrived. */
  judge: (received: Buffer) => Verdict;
  /** An open connection through the upstream to the target, which can take the payload at once. */
  idle?: TcpSocket | undefined;
}

interface AttemptEvents {
  /** Called when it is connected with nothing to send, or the answer is good or in doubt. */
  answered(attempt: Attempt, doubt: Doubt | null): void;
  /** `stale`: the connection was an idle one that had ended unnoticed, which is not a failure. */
  failed(attempt: Attempt, failure: Failure | 'stale'): void;
}

type Turn = ReturnType<typeof connectHttp>;

/** Maximum number of bytes read before the answer is judged. */
const MAX_UNJUDGED_BYTES = 256 * 1024;

/**
 * One attempt to reach a target through one upstream. A class, because there are several for each connection of a
 * client.
 */
export class Attempt implements TcpListener {
  readonly member: Member;
  readonly startedAt: number;
  /** Until the answer, in ms. */
  tookMs = 0;
  readonly plan: Plan;
  readonly #monotonic: () => number;
  readonly #events: AttemptEvents;
  readonly #turns: readonly Turn[];
  readonly #socket: TcpSocket;
  /** True if the connection was used before, so that it may have ended unnoticed. */
  #used = false;
  #turn = -1;
  /** What has arrived and was not part of asking for the tunnel. */
  readonly #inbox = new Inbox();
  /** Repeats the end of the connection, if it came after the answer. */
  #end: ((listener: TcpListener) => void) | null = null;
  #phase: 'connecting' | 'asking' | 'waiting' | 'answered' | 'over' = 'connecting';

  constructor(
    { tcp, monotonic }: { tcp: Pick<Tcp, 'dial'>; monotonic: () => number },
    member: Member,
    { target, plan, events }: { target: Target; plan: Plan; events: AttemptEvents },
  ) {
    const { upstream } = member;
    const { idle } = plan;
    this.member = member;
    this.startedAt = monotonic();
    this.plan = plan;
    this.#monotonic = monotonic;
    this.#events = events;
    this.#turns = plan.tunnel ? turnsTo(upstream, target) : [];
    member.busy++;
    if (idle && plan.payload !== null) {
      this.#used = true;
      this.#phase = 'waiting';
      this.#socket = idle;
      idle.listener = this;
      idle.write(plan.payload);
    } else this.#socket = tcp.dial(upstream.ip, upstream.port, this, upstream);
  }

  get isConnecting(): boolean {
    return this.#phase === 'connecting';
  }

  /** Hands over the connection, of which the member stays busy, with everything received that was not part of asking for it. */
  release(): { socket: TcpSocket; received: Buffer } {
    this.#phase = 'over';
    return { socket: this.#socket, received: this.#inbox.remainder() };
  }

  /** Tells the listener that has taken over of an end that came before. */
  replay(): void {
    this.#end?.(this.#socket.listener);
  }

  /** Ends it without further callbacks. */
  cancel(): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.member.busy--;
    this.#socket.listener = NOBODY;
    this.#socket.destroy();
  }

  opened(): void {
    if (this.#phase !== 'connecting') return;
    this.#phase = 'asking';
    this.#goOn();
  }

  received(bytes: Uint8Array): void {
    if (this.#phase === 'over') return;
    const chunk = asBuffer(bytes);
    if (this.#used && saysTooLate(chunk)) {
      this.#fail('closed');
      return;
    }
    this.#used = false;
    this.#inbox.add(chunk);
    if (this.#phase === 'asking') this.#goOn();
    else if (this.#phase === 'waiting') this.#judge();
  }

  drained(): void {}

  ended(): void {
    if (this.#phase === 'asking' || this.#phase === 'waiting') this.#fail('closed');
    else this.#end ??= (listener) => listener.ended();
  }

  closed(fault: string | null): void {
    if (this.#phase === 'connecting') this.#fail('unreachable');
    else if (this.#phase === 'answered') this.#end = (listener) => listener.closed(fault);
    else if (this.#phase !== 'over') this.#fail('closed');
  }

  /** Continues asking for a tunnel with the data that is there. */
  #goOn(): void {
    try {
      for (;;) {
        const heard = this.#turn < 0 ? true : this.#turns[this.#turn]?.hear(this.#inbox);
        if (heard === undefined) return;
        const next = this.#turns[++this.#turn];
        if (next === undefined) {
          this.#stands();
          return;
        }
        this.#socket.write(typeof next.say === 'string' ? Buffer.from(next.say, 'latin1') : next.say);
      }
    } catch (error) {
      this.#fail(error instanceof CheckFault ? failureOf(error) : 'protocol_error');
    }
  }

  #stands(): void {
    if (this.plan.payload === null) {
      this.#answer(this.plan.doubt ?? null);
      return;
    }
    this.#phase = 'waiting';
    this.#socket.write(this.plan.payload);
    if (!this.#inbox.isEmpty) this.#judge();
  }

  #judge(): void {
    const verdict = this.plan.judge(this.#inbox.view());
    if (verdict === 'good') this.#answer(null);
    else if (verdict === 'more') {
      if (this.#inbox.size > MAX_UNJUDGED_BYTES) this.#fail('protocol_error');
    } else if ('doubt' in verdict) this.#answer(verdict.doubt);
    else this.#fail(verdict.failure);
  }

  #answer(doubt: Doubt | null): void {
    this.#phase = 'answered';
    this.tookMs = this.#monotonic() - this.startedAt;
    this.#events.answered(this, doubt);
    // Unless the connection was handed over, further data waits in the system.
    if (this.#phase === 'answered') this.#socket.pause();
  }

  #fail(failure: Failure): void {
    this.cancel();
    this.#events.failed(this, this.#used && failure === 'closed' ? 'stale' : failure);
  }
}

function turnsTo({ protocol, login }: Upstream, target: Target): readonly Turn[] {
  switch (protocol) {
    case 'http':
      return [connectHttp(target, login)];
    case 'socks4':
      return [connectSocks4(target, login)];
    case 'socks5':
      return [...greetSocks5(login), connectSocks5(target)];
  }
}

/** A server may send 408 when it has waited long enough for the next request, just as that is on its way. */
function saysTooLate(answer: Buffer): boolean {
  return answer.toString('latin1', 8, 12) === ' 408';
}

function failureOf({ code }: CheckFault): Failure {
  if (code === 'auth_required') return code;
  return code === 'bad_answer' ? 'declined' : 'protocol_error';
}
