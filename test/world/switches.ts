import { createHash } from 'node:crypto';
import { happens, oneOf } from './chance.ts';
import { ADMIN, type Copy, SPOILT } from './copy.ts';
import { GRACE_MS, type Ledger } from './ledger.ts';
import { MINUTE, trueTime } from './time.ts';
import type { Answer, Ask } from './users.ts';

/** What the administrator turns on and off: a block of a file, or a token. */
export interface Switch {
  kind: 'block' | 'token';
  /** The content of a file, or the name of a token. */
  name: string;
  /** The token that was issued last. */
  secret: string;
  /** `null`: nobody was told. */
  isOn: boolean | null;
  /** Since when that is acknowledged, and by which copy. */
  since: number;
  by: Copy | null;
  isChanging: boolean;
  /** Until when a change that nobody has acknowledged may still come, unless the copy that was asked stands still. */
  unclearUntil: number;
  asked: Copy | null;
}

/** The files cannot be decoded: nothing is left of those that are not refused for being blocked. */
export const switches = (): Switch[] =>
  [`${SPOILT} one`, `${SPOILT} two`, 'Ann', 'Bob'].map((name) => ({
    ...{ kind: name.startsWith(SPOILT) ? 'block' : 'token', name, secret: '', isOn: false },
    ...{ since: 0, by: null, isChanging: false, unclearUntil: 0, asked: null },
  }));

interface Around {
  ask: Ask;
  ledger: Ledger;
  breaks(promise: string): void;
}

/** What an administrator turns on and off, and what others then find. */
export function createAdministrator({ ask, ledger, breaks }: Around) {
  /** A replaced store need not have what was written to the other. */
  function forget(one: Switch): void {
    const { disaster } = ledger;
    if (disaster?.store !== 'records' || trueTime() < disaster.from - GRACE_MS) return;
    if (one.since < disaster.until + GRACE_MS) one.isOn = null;
  }

  function turn(one: Switch, on: boolean): Promise<Answer | string> {
    const { kind, name } = one;
    const hash = createHash('sha256').update(name).digest('hex');
    const body = kind === 'block' ? { hash } : { name, role: 'moderator' };
    const which = kind === 'block' ? `?hash=${hash}` : `/${name}`;
    return ask(on ? 'POST' : 'DELETE', `/api/admin/${kind}s${on ? '' : which}`, {
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      ...(on && { body: JSON.stringify(body) }),
      sentTo(copy) {
        one.asked = copy;
      },
    });
  }

  async function change(one: Switch): Promise<void> {
    const thawedAt = one.asked?.isAlive ? (one.asked.frozenUntil ?? 0) : 0;
    if (one.isChanging || trueTime() < Math.max(one.unclearUntil, thawedAt + 2 * MINUTE)) return;
    forget(one);
    const before = one.isOn;
    const wanted = before === null ? happens(0.5) : !before;
    Object.assign(one, { isChanging: true, isOn: null });
    const answer = await turn(one, wanted);
    Object.assign(one, { isChanging: false, since: trueTime() });
    if (typeof answer === 'string' || ![200, 201, 404, 409].includes(answer.status)) {
      one.unclearUntil = trueTime() + 2 * MINUTE;
      return;
    }
    const { status, body, copy } = answer;
    if (status === 201) one.secret = JSON.parse(new TextDecoder().decode(body)).token;
    // Of a token that stands already, nobody has the secret.
    Object.assign(one, { isOn: status === 409 ? null : wanted, by: copy });
    forget(one);
    if (before === null || (one.isOn === null && status !== 409)) return;
    if (status === 404) breaks(`the ${one.kind} ${one.name} is lost`);
    if (status === 409) breaks(`the ${one.kind} ${one.name} is back`);
  }

  /** Uploads the file, or uses the token. */
  async function look(one: Switch): Promise<void> {
    const { kind, name, secret } = one;
    if (kind === 'token' && secret === '') return;
    const begun = trueTime();
    const answer =
      kind === 'block'
        ? await ask('POST', '/api/upload', { body: name })
        : await ask('GET', '/api/admin/reviews', { headers: { authorization: `Bearer ${secret}` } });
    forget(one);
    if (typeof answer === 'string' || one.isChanging || one.isOn === null || one.secret !== secret) return;
    if (begun < one.since + (one.by === answer.copy ? 0 : GRACE_MS)) return;
    const seen = { 200: true, 403: kind === 'block', 401: false, 415: false }[answer.status];
    if (seen === undefined) return;
    ledger.examined[kind]++;
    if (seen !== one.isOn) breaks(`the ${kind} ${name} is ${one.isOn ? 'lost' : 'obeyed after its end'}`);
  }

  return {
    async act(): Promise<void> {
      const one = oneOf(ledger.switches);
      if (happens(0.2)) await Promise.all(ledger.switches.map(change));
      else await (happens(0.4) ? change(one) : look(one));
    },
    async lookAtAll(): Promise<void> {
      for (const one of ledger.switches) await look(one);
    },
  };
}
