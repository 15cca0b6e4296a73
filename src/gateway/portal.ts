import { Attempt } from './attempt.ts';
import type { Desk } from './desk.ts';
import { type Answer, canaryFor, LENGTH, lookOf } from './http-answer.ts';
import type { Member } from './lane.ts';

/** How long an exit is not asked again: after answers that look as those did when it was, and after others. */
const PAUSE_MS = { alike: 5 * 60_000, other: 1_000 } as const;

/**
 * Finds a proven exit that has become a portal since its check, and answers everything with a page of its own: one whose answers
 * to two URLs look alike is asked for a host that does not exist. Calls `onFound` if that looks like them as well.
 */
export function watchForPortal(
  { options, carriers, isEnding }: Pick<Desk, 'options' | 'carriers' | 'isEnding'>,
  member: Member,
  { answer, url, tunnel }: { answer: Answer; url: string; tunnel: boolean },
  onFound: () => void,
): void {
  const now = options.monotonic();
  const { shown } = member;
  const look = inBrief(lookOf(answer, LENGTH));
  const asked = shown?.asked ?? { look, at: Number.NEGATIVE_INFINITY };
  const isAlike = shown?.look === look && shown.url !== url.slice(-100) && answer.status < 400;
  const pauseMs = asked.look === look ? PAUSE_MS.alike : PAUSE_MS.other;
  const asks = isAlike && !isEnding && now - asked.at >= pauseMs;
  member.shown = { url: url.slice(-100), look, asked: asks ? { look, at: now } : asked };
  if (!asks) return;
  const end = () => {
    carriers.delete(carrier);
    canary.cancel();
  };
  const events = {
    answered(_: Attempt, seen: { look: string } | null) {
      end();
      if (!seen || inBrief(seen.look) !== look) return;
      // Answers that are on their way may count for it again.
      delete member.shown;
      onFound();
    },
    failed: end,
  };
  const canary = new Attempt(options, member, { ...canaryFor(member.upstream, tunnel, LENGTH), events });
  const carrier = { movedAt: now, patienceMs: options.timeoutMs, cut: end };
  carriers.add(carrier);
}

/** Portals redirect to one page, and tell it in the query what was asked for. */
function inBrief(look: string): string {
  return look.replace(/\?\S*/, '').slice(0, 300);
}
