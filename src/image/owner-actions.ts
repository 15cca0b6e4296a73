import type { Audit, Logged } from '../audit/audit.ts';
import { AppError, inEnglish } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { holding, type Locks } from '../lib/locks.ts';
import type { Log } from '../lib/logger.ts';
import { sha256 } from '../lib/secret.ts';
import { type Deleter, type DeletionRights, mayNotDelete, sameHash } from './access/deletion-rights.ts';
import type { PasswordHasher } from './access/password.ts';
import { type ChangeWish, changeOf } from './change.ts';
import type { ImageRecord } from './image.ts';
import type { Unfinished } from './maintenance/unfinished.ts';
import type { AudienceRules } from './records/audience.ts';
import { ID_PATTERN } from './records/ids.ts';
import { notFound } from './records/missing.ts';
import type { RecordCache } from './records/records.ts';
import type { Reviews } from './review/reviews.ts';
import type { ImageStore } from './store.ts';
import type { Uploaded } from './upload/storing.ts';

/** Why a moderator removed a picture. */
export interface Decision {
  statement: string;
  answered: boolean;
}

export interface OwnerActionsOptions {
  images: Pick<ImageStore, 'get' | 'touch' | 'change' | 'remove'>;
  records: Pick<RecordCache, 'find' | 'forget'>;
  reviews: Pick<Reviews, 'find' | 'withdraw'> | undefined;
  rights: Pick<DeletionRights, 'mayRemove'>;
  rules: AudienceRules;
  hasher: Pick<PasswordHasher, 'hash'>;
  /** Rejects with `forbidden` for a file, by its SHA-256, or a look, that must not be stored. */
  mayStore: (hash: string, phash: string | null) => Promise<void>;
  onChanged: (image: ImageRecord) => void;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  unfinished: Pick<Unfinished, 'during' | 'settle'>;
  /** Where acts are logged before they are carried out. */
  audit: Pick<Audit, 'act' | 'carry' | 'once' | 'about'>;
  locks: Locks;
  clock: Pick<Clock, 'sleep'>;
  now: () => number;
  log: Log;
}

/** What acts on images are called in the audit log. */
export const SUBJECT = 'image ';
const DELETE = 'image.delete';
const ANSWER = 'image.answer';

/** What the uploader of an image, and the administrator, can do with it. */
export function createOwnerActions({
  images,
  records,
  reviews,
  rights,
  rules,
  hasher,
  mayStore,
  onChanged,
  onRemoved,
  unfinished,
  audit,
  locks,
  clock,
  now,
  log,
}: OwnerActionsOptions) {
  const inReview = async (id: string) => (ID_PATTERN.test(id) && (await reviews?.find(id))) || null;

  const removeStored = (image: ImageRecord) =>
    unfinished.during('deletion', [image], async () => {
      const isGone = await images.remove(image.id).finally(() => records.forget(image.id));
      if (!isGone) throw notFound();
      await onRemoved(image);
    });

  const removeEverywhere = async ({ subject }: Pick<Logged, 'subject'>) => {
    const id = subject.slice(SUBJECT.length);
    // In this order, because an approval stores the image before it takes the picture out of review.
    if ((await inReview(id)) && (await reviews?.withdraw(id))) return;
    const image = await images.get(id);
    if (image === null) throw notFound();
    await removeStored(image);
  };
  audit.carry(DELETE, removeEverywhere, 'final');

  return {
    /** Returns the record of a picture that still waits for the administrator, or `null`. */
    inReview,
    ...createDecisions(audit, { locks, clock }),
    /** Reports whether `remove` would be allowed. */
    mayRemove: rights.mayRemove,

    /**
     * Changes an image for the holder of its delete token, or the administrator. Rejects with `not_found`, `gone`,
     * `forbidden`, also for a blocked file, and `invalid_parameter`.
     */
    async change(id: string, wish: ChangeWish, by: Deleter): Promise<ImageRecord> {
      const image = await records.find(id);
      if (!rights.mayRemove(image, { ...by, peer: null })) {
        throw new AppError('forbidden', 'Changing an image needs its delete token.');
      }
      await mayStore(image.hash, image.phash);
      const change = await changeOf(image, wish, { rules, hasher, now: now() });
      // Without an expiry, the time without a view counts from now.
      if (wish.expires_in === null) await images.touch(new Map([[id, now()]]));
      const work = () =>
        unfinished.during('change', [image], async () => {
          // Even if the answer is lost, nobody must see the old record.
          const changed = await images.change(id, change).finally(() => records.forget(id));
          if (changed === null) throw notFound();
          log('info', 'image changed', { id });
          onChanged(changed);
          // Its password was to be kept, but another change at the same time has removed it.
          if (wish.visibility === 'protected' && changed.passwordHash === null) {
            throw new AppError('conflict', inEnglish('The password was removed at the same time. Send one.'));
          }
          return changed;
        });
      if (rights.mayRemove(image, { ...by, peer: null, admin: false })) return work();
      const { who = 'administrator', ...facts } = by.log ?? {};
      return audit.once({ what: 'image.change', subject: SUBJECT + id, who, ...facts }, work);
    },

    /** Removes an image, or a picture in review. Rejects with `not_found` or `forbidden`. */
    async remove(id: string, by: Deleter): Promise<void> {
      // In the order of `removeEverywhere`.
      const image = (await inReview(id)) ?? (ID_PATTERN.test(id) ? await images.get(id) : null);
      if (image === null) throw notFound();
      if (!rights.mayRemove(image, by)) throw mayNotDelete(by);
      const { who = 'uploader', peer, why, statement } = by.log ?? {};
      // By its hash, the uploader can be told later.
      const details = { statement, tokenHash: image.deleteTokenHash };
      await audit.act({ what: DELETE, subject: SUBJECT + id, who, peer, why, details });
    },

    /**
     * Removes an image that the administrator does not approve, if it is stored; `mayCome`: or if the store does so
     * late.
     */
    async discard(image: ImageRecord, mayCome: boolean): Promise<void> {
      if ((await images.get(image.id)) !== null) return removeStored(image);
      log('info', 'image removed', { id: image.id });
      if (mayCome) await unfinished.settle('take-back', image);
    },

    /**
     * Removes what was stored for an uploader who gets an error, at once if possible, otherwise later. Never rejects.
     */
    takeBack: ({ image, inReview }: Pick<Uploaded, 'image' | 'inReview'>): Promise<void> =>
      unfinished.settle(inReview ? 'withdrawal' : 'take-back', image),
  };
}

/** What the audit log tells uploaders, and keeps of their answers. */
function createDecisions(
  audit: Pick<Audit, 'about' | 'once'>,
  parts: Pick<OwnerActionsOptions, 'locks' | 'clock'>,
) {
  async function decision(id: string, token: string): Promise<Decision | null> {
    const acts = ID_PATTERN.test(id) ? await audit.about(SUBJECT + id) : [];
    const refused = new Set(acts.map(({ details }) => details?.of));
    const told = acts.find(
      ({ id, details }) =>
        typeof details?.statement === 'string' &&
        sameHash(sha256(token), String(details.tokenHash)) &&
        !refused.has(id),
    );
    if (told === undefined) return null;
    const answered = acts.some(({ what }) => what === ANSWER);
    return { statement: String(told.details?.statement), answered };
  }
  async function demandUnanswered(id: string, token: string): Promise<void> {
    const known = await decision(id, token);
    if (known === null) throw notFound();
    if (known.answered) throw new AppError('conflict', 'You have already answered.');
  }
  return {
    /** Returns what its uploader, who has the delete token, is told about a removal by a moderator; `null` if nothing. */
    decision,
    /** Records the uploader's answer to it, once. Rejects with `not_found` or `conflict`. */
    async answer(id: string, token: string, text: string, peer: string): Promise<void> {
      // First, so that nobody who has no decision to answer holds up others.
      await demandUnanswered(id, token);
      // Many at once would also drive the decision out of what is read about the picture.
      await holding({ ...parts, name: 'image-answers' }, async (demandHeld) => {
        await demandUnanswered(id, token);
        demandHeld();
        const act = { what: ANSWER, subject: SUBJECT + id, who: 'uploader', peer, why: text };
        await audit.once(act, async () => {});
      });
    },
  };
}
