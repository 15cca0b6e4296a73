import { Draw } from '../../../src/gateway/draw.ts';
import { Lane, type Member } from '../../../src/gateway/lane.ts';
import type { Upstream } from '../../../src/gateway/upstream.ts';
import { createVisits } from '../../../src/gateway/visits.ts';
import { OwnedMap } from '../../../src/lib/owned-map.ts';
import { createBans } from '../../../src/proxy/targets/bans.ts';
import { createAgreement, createTestimony } from '../../../src/proxy/targets/testimony.ts';

/** The lane of an account that is alone. `now`: a monotonic clock. */
export function startLane(random: () => number, now: () => number = () => 0) {
  const roster = new Draw<Upstream>(random);
  const lane = new Lane(
    {
      kind: 'tunnel',
      random,
      monotonic: now,
      roster,
      known: new OwnedMap<Member>(1_000),
      agreed: createAgreement(now),
      visits: createVisits(),
      testimony: createTestimony({ random, monotonic: now }),
      bans: createBans(now),
      onFailure: () => {},
    },
    { id: 'me', speaksForAll: true },
  );
  return { lane, roster };
}

/** Credits a member with an answer that took this long. */
export function credit(lane: Lane, member: Member, tookMs: number): void {
  lane.worked(member, 'a.example', tookMs);
}
