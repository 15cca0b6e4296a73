import { crc32 } from 'node:zlib';
import { BoundedMap } from '../lib/bounded-map.ts';
import { Attempt } from './attempt.ts';
import type { Desk } from './desk.ts';
import { type Answer, canaryFor, lookOf } from './http-answer.ts';
import type { PlainRequest } from './http-request.ts';
import type { Member } from './lane.ts';

/** How long an exit is not asked again: after answers that look as those did when it was, and after others. */
const PAUSE_MS = { alike: 5 * 60_000, other: 1_000 } as const;
/** Sites that clients mix may each answer everything alike. */
const MOST_ASKED = 8;

/**
 * Finds a proven exit that has become a portal since its check, and answers everything with a page of its own: one whose answers
 * to two URLs look alike is asked for a host that does not exist. Calls `onFound` if that looks like them as well.
 */
export function watchForPortal(
  { options, carriers, isEnding }: Pick<Desk, 'options' | 'carriers' | 'isEnding'>,
  member: Member,
  seen: { answer: Answer; request: PlainRequest; url: string; tunnel: boolean },
  onFound: () => void,
): void {
  const { answer, request, tunnel } = seen;
  const now = options.monotonic();
  const [url, look] = [crc32(seen.url), inBrief(lookOf(answer, true))];
  const shown = member.shown ?? fresh(false);
  const isAlike = shown.look === look && shown.url !== url && answer.status < 400;
  member.shown = Object.assign(shown, { url, look, found: isFound(member, now) });
  const isPaused =
    now - shown.askedAt < PAUSE_MS.other || now - (shown.asked.get(look) ?? -Infinity) < PAUSE_MS.alike;
  if (!isAlike || isEnding || isPaused) return;
  shown.askedAt = now;
  shown.asked.set(look, now);
  const end = () => {
    carriers.delete(carrier);
    canary.cancel();
  };
  const events = {
    answered(_: Attempt, own: { look: string } | null) {
      end();
      if (!own || inBrief(own.look) !== look) return;
      // Further answers may count for it again, such as those to other sessions.
      member.shown = fresh(true);
      onFound();
    },
    failed: end,
  };
  const canary = new Attempt(options, member, { ...canaryFor(member.upstream, tunnel, request), events });
  const carrier = { movedAt: now, patienceMs: options.timeoutMs, cut: end };
  carriers.add(carrier);
}

/** Whether it was found, and rests for that: what was on its way, or goes to a session locked to it, does not bring it back. */
export function isFound({ shown, ejectedUntil }: Member, now: number): boolean {
  return shown?.found === true && ejectedUntil > now;
}

function fresh(found: boolean): NonNullable<Member['shown']> {
  return { url: 0, look: 0, askedAt: -Infinity, asked: new BoundedMap(MOST_ASKED), found };
}

/** Portals redirect to one page, and tell it in the query what was asked for. */
function inBrief(look: string): number {
  return crc32(look.replace(/\?\S*/, ''));
}
