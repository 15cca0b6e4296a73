import { createHash } from 'node:crypto';
import { happens, oneOf } from './chance.ts';
import { ADMIN, type Copy, SPOILT } from './copy.ts';
import { GRACE_MS, type Ledger } from './ledger.ts';
import { MINUTE, trueTime } from './time.ts';
import type { Ask } from './users.ts';

/** A file as the administrator knows it. */
export interface Blockable {
  content: string;
  /** Whether it must not be stored; `null`: nobody was told whether it may. */
  isBlocked: boolean | null;
  /** Since when that is acknowledged, and by which copy. */
  since: number;
  by: Copy | null;
  isChanging: boolean;
  /** Until when a change that nobody has acknowledged may still come. */
  unclearUntil: number;
}

/** They cannot be decoded: nothing is left of those that are not refused for being blocked. */
export const blockables = (): Blockable[] =>
  ['one', 'two', 'three'].map((name) => ({
    content: `${SPOILT} ${name}`,
    ...{ isBlocked: false, since: 0, by: null, isChanging: false, unclearUntil: 0 },
  }));

interface Around {
  ask: Ask;
  ledger: Ledger;
  breaks(promise: string): void;
}

/** What an administrator blocks, and what a stranger then uploads. */
export function createBlocker({ ask, ledger, breaks }: Around) {
  /** A replaced store need not have what was written to the other. */
  function forget(file: Blockable): void {
    const { disaster } = ledger;
    if (disaster?.store !== 'records' || trueTime() < disaster.from - GRACE_MS) return;
    if (file.since < disaster.until + GRACE_MS) file.isBlocked = null;
  }

  async function change(file: Blockable): Promise<void> {
    if (file.isChanging || trueTime() < file.unclearUntil) return;
    forget(file);
    const before = file.isBlocked;
    const wanted = before === null ? happens(0.5) : !before;
    const hash = createHash('sha256').update(file.content).digest('hex');
    Object.assign(file, { isChanging: true, isBlocked: null });
    const path = `/api/admin/blocks${wanted ? '' : `?hash=${hash}`}`;
    const answer = await ask(wanted ? 'POST' : 'DELETE', path, {
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      ...(wanted && { body: JSON.stringify({ hash }) }),
    });
    Object.assign(file, { isChanging: false, since: trueTime() });
    const isMissing = !wanted && typeof answer !== 'string' && answer.status === 404;
    if (typeof answer !== 'string' && (answer.status === 200 || isMissing)) {
      Object.assign(file, { isBlocked: wanted, by: answer.copy });
      forget(file);
      if (isMissing && before && file.isBlocked !== null) breaks(`the block of ${file.content} is lost`);
    } else file.unclearUntil = trueTime() + 2 * MINUTE;
  }

  /** Uploads it. */
  async function look(file: Blockable): Promise<void> {
    const begun = trueTime();
    const answer = await ask('POST', '/api/upload', { body: file.content });
    forget(file);
    if (typeof answer === 'string' || file.isChanging || file.isBlocked === null) return;
    if (begun < file.since + (file.by === answer.copy ? 0 : GRACE_MS)) return;
    ledger.examined.blocked++;
    if (file.isBlocked && answer.status === 415) breaks(`${file.content} was blocked, and may be stored`);
    if (!file.isBlocked && answer.status === 403)
      breaks(`${file.content} is blocked no more, and is refused`);
  }

  return {
    async act(): Promise<void> {
      const file = oneOf(ledger.blockables);
      if (happens(0.2)) await Promise.all(ledger.blockables.map(change));
      else await (happens(0.4) ? change(file) : look(file));
    },
    async lookAtAll(): Promise<void> {
      for (const file of ledger.blockables) await look(file);
    },
  };
}
