import { Type } from '@sinclair/typebox';
import { AppError, inEnglish } from '../errors.ts';
import type { Description } from '../http/describe.ts';
import { readSmallBody } from '../http/read-body.ts';
import { type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import type { Clock } from '../lib/clock.ts';
import { integer } from '../lib/schema.ts';
import { sha256 } from '../lib/secret.ts';
import type { StateStore } from '../lib/state.ts';
import { isGoodUntil } from '../lib/stored-time.ts';
import { createDeleteToken, type RandomBytes, TOKEN_PATTERN } from './records/ids.ts';
import { answer, success } from './schemas.ts';

/** How long a sealed list can be fetched. */
const LIFE_MS = 10 * 60_000;
/** 256 KiB in Base64. */
const MAX_BYTES = 349_528;
/** Sealed lists that are kept at once: of all visitors, some 11 MB, and of one address. */
const MOST = 32;
const MOST_OF_ONE = 3;
const SEALED = /^[A-Za-z0-9_-]+$/;
/** Keys are this, when it ends, whose it is, and the ID. */
const PREFIX = 'handover:';
/** The mark of the only reader. */
const TAKEN = 'handover-taken:';

interface HandoverOptions {
  state: Pick<StateStore, 'get' | 'set' | 'getOrSet' | 'remove' | 'keys'>;
  clock: Pick<Clock, 'now'>;
  random: RandomBytes;
}

const given = answer(
  'Handover',
  { success, id: Type.String(), expires_in: integer('Seconds.') },
  { success: true, id: 'x4Jb0QmZr7TnYc2LkW9sVd6HfG3aPe1U', expires_in: LIFE_MS / 1000 },
);
const taken = answer(
  'TakenHandover',
  { success, sealed: Type.String() },
  { success: true, sealed: 'q83v_w' },
);
const text = Type.String();

const described = {
  give: {
    id: 'giveList',
    summary: 'Keep an encrypted list for another device',
    description:
      'The body is what the browser has encrypted, at most 256 KiB, in Base64url. The server has no key. It keeps the text for ten minutes and for one read.',
    requestBody: { required: true, content: { 'application/octet-stream': { schema: text } } },
    answers: { 201: { description: 'The list is kept.', ...given } },
    errors: [400, 413, 503],
  },
  take: {
    id: 'takeList',
    summary: 'Read an encrypted list, once',
    answers: { 200: { description: 'The list, which the server no longer has.', ...taken } },
    errors: [404],
  },
} satisfies Record<string, Description>;

/** Routes that carry a browser's encrypted list of pictures to another device. */
export function handoverRoutes({ state, clock, random }: HandoverOptions): Route[] {
  /** Returns the keys of all that can be read, after removing those that cannot. */
  async function kept(): Promise<string[]> {
    const good: string[] = [];
    const keys = await state.keys();
    for (const key of keys) {
      const isMark = key.startsWith(TAKEN);
      // A reader that did not finish left it.
      if (isMark && !keys.some((one) => one.startsWith(PREFIX) && one.endsWith(key.slice(TAKEN.length)))) {
        await state.remove(key);
      }
      if (!key.startsWith(PREFIX)) continue;
      if (isGoodUntil(Number(key.split(':')[1]), clock.now(), LIFE_MS)) good.push(key);
      else await state.remove(key);
    }
    return good;
  }

  return [
    route(
      'POST /api/handovers',
      async ({ request, context }) => {
        const owner = sha256(context.payer).slice(0, 16);
        const sealed = await readSmallBody(request, { maxBytes: MAX_BYTES, name: 'The body' });
        if (!SEALED.test(sealed))
          throw new AppError('invalid_body', inEnglish('The body must be Base64url.'));
        const isOwn = (key: string) => key.split(':')[2] === owner;
        const known = await kept();
        const older = known.filter(isOwn);
        if (known.length >= MOST && older.length < MOST_OF_ONE) {
          const said = inEnglish('The server keeps too many lists at the moment.');
          throw new AppError('unavailable', said, { retryAfterMs: LIFE_MS / 10 });
        }
        const id = createDeleteToken(random);
        // After the others of its address, also if the clock has gone back: it would be taken for the oldest.
        const end = Math.max(clock.now() + LIFE_MS, ...older.map((key) => Number(key.split(':')[1]) + 1));
        await state.set(`${PREFIX}${end}:${owner}:${id}`, sealed);
        // A new link of the same address takes the place of its oldest. Others may have come at the same moment.
        const own = (await kept()).filter(isOwn).sort();
        for (const key of own.slice(0, -MOST_OF_ONE)) await state.remove(key);
        return unkept({ success: true, id, expires_in: LIFE_MS / 1000 }, 201);
      },
      { bytes: 'upload_bytes', about: described.give },
    ),
    // Previews of links never send a POST, so they do not use up the only read.
    route(
      'POST /api/handovers/:id',
      async ({ params: { id } }) => {
        const key = TOKEN_PATTERN.test(id) && (await kept()).find((one) => one.endsWith(`:${id}`));
        const mark = createDeleteToken(random);
        const isMine = key && (await state.getOrSet(TAKEN + id, mark)) === mark;
        const sealed = isMine ? await state.get(key) : null;
        // The text goes before the mark, so that no second reader finds both.
        if (isMine) {
          await state.remove(key);
          await state.remove(TAKEN + id);
        }
        if (sealed === null)
          throw new AppError('not_found', inEnglish('This link has been used, or is older than 10 minutes.'));
        return unkept({ success: true, sealed });
      },
      { about: described.take },
    ),
  ];
}
