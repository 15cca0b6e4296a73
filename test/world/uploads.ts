import { between, chance, happens, oneOf, whole } from './chance.ts';
import { type Copy, SUSPECT } from './copy.ts';
import { isDuring } from './disasters.ts';
import { type Ledger, mustStay, type Picture } from './ledger.ts';
import { later, MINUTE, pause, SECOND, trueTime } from './time.ts';
import { formOf } from './transfers.ts';
import type { Answer, Ask, Unanswered } from './users.ts';

const HOST = 'http://img.example';
const LIVES = { '10m': 10 * MINUTE, '20m': 20 * MINUTE, '45m': 45 * MINUTE, '2h': 120 * MINUTE };
/** When the files are gone, uploads go on for this time. */
const UNNOTICED_MS = 3 * SECOND;

interface Around {
  name: string;
  ask: Ask;
  ledger: Ledger;
  breaks(promise: string): void;
  view(picture: Picture, share: number): Promise<void>;
}

/** Where a guest uploads, and who is told how it ended: the ID of what was acknowledged, or `null`. */
export interface Entrance {
  path: string;
  told(answer: Answer | Unanswered, id: string | null): void;
}

/** Creates a function that uploads as a user does, and notes what was promised to him. */
export function createUploader({ name, ask, ledger, breaks, view }: Around) {
  let serial = 0;

  /** Uploads one picture, or several; `mustWait`: one that waits for the administrator. */
  async function upload({
    mustWait = false,
    isFavourite = false,
    entrance = null as Entrance | null,
  } = {}): Promise<void> {
    const isPlain = mustWait || isFavourite || entrance !== null;
    const many = !isPlain && happens(0.25) ? whole(2, 3) : 1;
    const names = Array.from({ length: many }, () => `${name}-${serial++}.webp`);
    const suspect = mustWait || (!isPlain && many === 1 && happens(0.15));
    const contents = names.map((one) => (suspect ? `${SUSPECT} ` : '') + one.padEnd(whole(300, 3000), '.'));
    const wishes: Record<string, string> =
      isFavourite || entrance
        ? {}
        : {
            ...(happens(0.25) && { expires_in: oneOf(['10m', '20m', '45m', '2h']) }),
            ...(happens(0.25) && { max_views: String(whole(1, 3)) }),
            ...(happens(0.2) && { password: 'open sesame' }),
          };
    const query = new URLSearchParams({ ...wishes, ...(many === 1 && { filename: names[0] ?? '' }) });
    const sentAt = trueTime();
    const form = many > 1 ? formOf(names, contents) : null;
    const leaves = !isFavourite && happens(0.1);
    let by: Copy | null = null;
    let wasWrong = false;
    const path = entrance?.path ?? '/api/upload?';
    const answer = await ask('POST', `${path}&${query}`, {
      body: form?.body ?? contents[0] ?? '',
      headers: { 'content-type': form?.type ?? 'application/octet-stream' },
      // Mostly while it is being stored.
      ...(leaves && { leaveMs: 200 * chance() ** 4 }),
      sentTo: (copy) => {
        by = copy;
        wasWrong = copy.skewMs !== 0;
      },
    });
    if (typeof answer === 'string' || answer.status !== 201) entrance?.told(answer, null);
    // Nobody can know whether it was stored.
    if (answer === 'lost') return tryAgain(suspect);
    const isDoubtful = isDuring(ledger.disaster, sentAt, trueTime());
    if (answer === 'left' || ![201, 202].includes(answer.status)) {
      // What failed is taken back where it was written.
      const failure = { at: trueTime(), by, hasLeft: answer === 'left' };
      if (!isDoubtful) for (const one of names) ledger.failures.push({ name: one, ...failure });
      return answer === 'left' ? undefined : tryAgain(suspect);
    }
    const said = JSON.parse(new TextDecoder().decode(answer.body));
    const results: Record<string, string>[] = said.results ?? [said];
    for (const [index, one] of names.entries()) {
      const image = results[index];
      if (!image?.id) {
        ledger.failures.push({ name: one, at: trueTime(), by, hasLeft: false });
        continue;
      }
      const picture: Picture = {
        name: one,
        content: contents[index] ?? '',
        id: image.id,
        path: new URL(image.raw_url ?? HOST).pathname,
        token: image.delete_token ?? '',
        sentAt,
        at: trueTime(),
        byWrongClock: wasWrong || answer.copy.skewMs !== 0,
        expiresIn: wishes.expires_in ? LIVES[wishes.expires_in as keyof typeof LIVES] : null,
        maxViews: wishes.max_views ? Number(wishes.max_views) : null,
        ...{
          shown: 0,
          sent: 0,
          left: 0,
          seenAt: sentAt,
          notedAt: sentAt,
          writtenAt: sentAt,
          askedAt: sentAt,
          waiting: 0,
        },
        password: wishes.password ?? null,
        open: new Set([!wishes.password]),
        ...{ openSince: trueTime(), openBy: null, changes: 0, changing: 0, unclearUntil: 0 },
        ...{ removalAskedAt: null, removedAt: null, removedBy: null },
        inReview: answer.status === 202,
        wasAllowed: false,
        isDoubtful,
        isFavourite,
      };
      ledger.pictures.set(one, picture);
      entrance?.told(answer, image.id);
      // Who was told when it ends may look whether it has.
      if (picture.expiresIn !== null && happens(0.5))
        later(picture.expiresIn + between(0, 20) * SECOND, () => void view(picture, 1));
    }
    const { store, found, from, until } = ledger.disaster ?? {};
    const areGone = store === 'files' && found === null && from && sentAt > from + UNNOTICED_MS;
    if (areGone && trueTime() < (until ?? 0) && hadPictures(from))
      breaks(`${names[0]} was acknowledged while all files were missing`);
  }

  /** Who got an error mostly does the same again, soon. */
  async function tryAgain(mustWait: boolean): Promise<void> {
    if (happens(0.3)) return;
    await pause(between(0.2, 10) * SECOND);
    await upload({ mustWait });
  }

  /** Whether a picture that was there then is there still. */
  const hadPictures = (then: number) =>
    [...ledger.pictures.values()].some(
      (picture) => picture.at < then && mustStay(picture, trueTime(), ledger),
    );

  return upload;
}
