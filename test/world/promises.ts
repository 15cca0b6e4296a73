import type { ImageRecord } from '../../src/image/image.ts';
import { LASTING } from '../../src/image/maintenance/doubts.ts';
import { EPOCH_BLOB, EPOCH_STATE } from '../../src/image/maintenance/epoch.ts';
import { mostUnasked } from '../../src/image/maintenance/survey.ts';
import { originalKey, strayKey } from '../../src/image/records/blob-keys.ts';
import { brokenOf } from './albums.ts';
import { isDuring } from './disasters.ts';
import type { FilesModel } from './files-model.ts';
import {
  type Failure,
  GIVEN_BACK,
  type Ledger,
  MARGIN_MS,
  type Message,
  mustStay,
  type Picture,
} from './ledger.ts';
import type { RecordsModel } from './records-model.ts';
import { MINUTE, trueTime } from './time.ts';

interface Stores {
  ledger: Ledger;
  records: RecordsModel;
  files: FilesModel;
}

export interface Outcome extends Stores {
  /** Sends a request to a copy, and returns status and text. */
  get(path: string, password: string | null): Promise<{ status: number; text: string }>;
}

/**
 * What users were promised, checked when all trouble is over. Returns what was broken, as sentences.
 */
export async function brokenPromises(outcome: Outcome): Promise<string[]> {
  const { ledger, records, files } = outcome;
  const now = trueTime();
  const images = await records.images.recent({ offset: 0, limit: 100_000 });
  const byId = new Map(images.map((image) => [image.id, image]));
  const counted = await records.state.get('image-version-bytes');
  ledger.examined.counted += images.length;
  const broken = [
    ...ledger.broken,
    ...((await isLeftToOperator(outcome))
      ? await lostFiles(outcome)
      : [
          ...fileless(images, ledger, (key) => files.files.has(key)),
          ...strays(images, files, now),
          ...forgottenReviews(await records.state.get('image-reviews'), files),
          ...miscounted(counted, files),
        ]),
  ];
  for (const picture of ledger.pictures.values()) {
    broken.push(...(await brokenTo(picture, byId.get(picture.id), outcome, now)));
  }
  for (const album of ledger.albums) {
    const { status, text } = await outcome.get(`/api/albums/${album.id}`, null);
    broken.push(...brokenOf(album, { ...outcome, status, body: new TextEncoder().encode(text), begun: now }));
  }
  const failed = new Set(ledger.failures.filter((one) => !isForgotten(one)).map(({ name }) => name));
  for (const { filename } of images) {
    if (failed.has(filename)) broken.push(`${filename}, whose upload failed, is stored`);
  }
  broken.push(...untold(ledger, byId));
  const reached = (then: number) => ledger.reachedAt.findLast((time) => time < then) ?? 0;
  const isDue = ({ by, at, tries }: Message) => {
    const until = by.diedAt ?? now;
    return until > Math.max(at, reached(until)) + TOLD_MS && tries < MOST_TRIES;
  };
  const due = ledger.messages.filter(isDue);
  ledger.examined.received += due.length;
  const lost = due.filter(({ received }) => !received).length;
  if (lost > 0) broken.push(`${lost} messages have not reached their webhook`);
  return [...new Set(broken)];
}

/** A copy that could not write down what it had to take back, or died while it still stored it, knows it alone. */
const isForgotten = ({ by, at, hasLeft }: Failure) =>
  by?.isAlive === false &&
  ((hasLeft && (by.diedAt ?? at) < at + MINUTE) || by.unnoted.some((one) => Math.abs(one.at - at) < MINUTE));

/** What failed is taken back within this time, also if the copy that was to do so has died. */
const TAKEN_BACK_MS = 13 * MINUTE;

/** Uploads that failed are not stored. In the end they would be gone because nobody views them. */
export async function keptFailures(ledger: Ledger, { images }: RecordsModel): Promise<string[]> {
  // What is being taken back when a store is replaced may be written to the wrong one.
  const isSpoilt = ({ at }: Failure) => isDuring(ledger.disaster, at - TAKEN_BACK_MS, at + TAKEN_BACK_MS);
  const failed = ledger.failures
    .filter((one) => one.at < trueTime() - TAKEN_BACK_MS && !isForgotten(one) && !isSpoilt(one))
    .map(({ name }) => name);
  const stored = (await images.recent({ offset: 0, limit: 100_000 })).map(({ filename }) => filename);
  return failed
    .filter((name) => stored.includes(name))
    .map((name) => `${name}, whose upload failed, is stored`);
}

/** What was deleted, blocked or has expired is not there, although in the end it would not be in any case. */
export async function keptRemovals(
  { pictures, examined, isFull }: Ledger,
  { images, state }: RecordsModel,
): Promise<string[]> {
  const broken: string[] = [];
  const held = (await state.get('image-reviews')) ?? '';
  for (const { id, name, removedAt, isDoubtful } of pictures.values()) {
    if (removedAt === null || isDoubtful || removedAt > trueTime() - MARGIN_MS) continue;
    examined.gone++;
    if (await images.get(id)) broken.push(`${name} (${id}) was deleted, and is stored`);
    if (!isFull && held.includes(id))
      broken.push(`${name} (${id}) was deleted, and waits for the administrator`);
  }
  return broken;
}

/** What was uploaded where the clock was right has the time of its upload, or that of what was stored before by a clock that was ahead. */
export async function misdated(
  { pictures, examined, aheadMs }: Ledger,
  { images }: RecordsModel,
): Promise<string[]> {
  const broken: string[] = [];
  for (const { id, name, sentAt, at, byWrongClock, isDoubtful } of pictures.values()) {
    const image = byWrongClock || isDoubtful ? null : await images.get(id);
    if (!image) continue;
    examined.dated++;
    const late = image.createdAt > at ? image.createdAt - at : Math.min(0, image.createdAt - sentAt);
    if (late < -MARGIN_MS || late > aheadMs + MARGIN_MS)
      broken.push(`${name} (${id}) is dated ${Math.round(late / 1000)} s late`);
  }
  return broken;
}

/** Where nothing goes wrong, views are used up by those who have seen the picture, and by few others. */
export async function lostViews(ledger: Ledger, { images }: RecordsModel): Promise<string[]> {
  const broken: string[] = [];
  for (const picture of ledger.isCalm ? ledger.pictures.values() : []) {
    const { id, name, maxViews, shown, sent, left } = picture;
    if (maxViews === null || !mustStay({ ...picture, maxViews: null }, trueTime(), ledger)) continue;
    const due = maxViews - shown - Math.max(0, sent - shown + left - GIVEN_BACK);
    const there = (await images.get(id))?.viewsLeft ?? 0;
    if (there < due) broken.push(`${name} (${id}) has ${there} views left, and should have ${due}`);
  }
  return broken;
}

/** What was promised to the uploader of one picture. */
async function brokenTo(
  picture: Picture,
  image: ImageRecord | undefined,
  { ledger, get }: Outcome,
  now: number,
): Promise<string[]> {
  const { removedAt, expiresIn, byWrongClock, isDoubtful } = picture;
  if (isDoubtful) return [];
  const name = `${picture.name} (${picture.id})`;
  const { status, text } = await get(picture.path, picture.password);
  if (removedAt !== null) {
    return status === 200 || image ? [`${name} was deleted, and is there (${status})`] : [];
  }
  if (expiresIn !== null && !byWrongClock && now > picture.at + expiresIn + MARGIN_MS) {
    return status === 200 || image ? [`${name} has expired, and is there (${status})`] : [];
  }
  if (!mustStay(picture, now, ledger)) return [];
  if (status !== 200) return [`${name} was acknowledged, and is not there (${status})`];
  return text === picture.content ? [] : [`${name} was acknowledged, and is another picture`];
}

/**
 * What was stored while records or files were others stays until the operator has looked at it, and nothing else without a record is
 * removed before; nor is it if the store that was put back has missed steps that both count.
 */
export async function isLeftToOperator({ ledger: { disaster }, records, files }: Stores): Promise<boolean> {
  // There were files and no records, after those of few pictures were full for long: nothing is removed until he says so.
  if (await records.state.get(LASTING)) return true;
  if (disaster === null) return false;
  const spoilt = [...files.files.values()].some(({ modified }) =>
    isDuring(disaster, modified - MARGIN_MS, modified + MARGIN_MS),
  );
  const mark = new TextDecoder().decode(files.files.get(EPOCH_BLOB)?.bytes);
  const missed = Number(await records.state.get(EPOCH_STATE)) - Number(mark);
  const images = await records.images.recent({ offset: 0, limit: 100_000 });
  const isBare = images.length > 0 && images.every((image) => !files.files.has(originalKey(image)));
  return spoilt || missed < 0 || missed > 1 || isBare;
}

/** Records have their files; in quarantine, a file has not been put back yet. */
export async function lostFiles({ ledger, records, files }: Stores): Promise<string[]> {
  const images = await records.images.recent({ offset: 0, limit: 100_000 });
  return fileless(images, ledger, (key) => files.files.has(key) || files.files.has(strayKey(key)));
}

function fileless(
  images: readonly ImageRecord[],
  { pictures, events, failures, disaster }: Ledger,
  isThere: (key: string) => boolean,
): string[] {
  const isSpoilt = (at: number) => isDuring(disaster, at - MARGIN_MS, at + MARGIN_MS);
  const doubtful = new Set([...pictures.values()].filter((one) => one.isDoubtful).map(({ id }) => id));
  // What records of earlier have ended, or never knew because it was allowed just before, is in those that are put back.
  for (const { type, id, at } of events) if (type !== 'changed' && isSpoilt(at)) doubtful.add(id);
  return (
    images
      .filter(({ id, createdAt }) => !doubtful.has(id) && !isSpoilt(createdAt))
      // What is taken back of an upload that failed is looked at by itself.
      .filter(({ filename }) => !failures.some(({ name }) => name === filename))
      // What has expired in review, by records of earlier, is removed without a word.
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > trueTime())
      .filter((image) => !isThere(originalKey(image)))
      .map(({ filename }) => `the record of ${filename} has no file`)
  );
}

/** Files have their records, except those in quarantine, those that just came, and more than are removed without the operator. */
function strays(images: readonly ImageRecord[], { files }: FilesModel, now: number): string[] {
  const broken: string[] = [];
  const named = new Set(images.map(({ id }) => id));
  for (const [key, { modified }] of files) {
    const [, id] = /^([0-9A-Za-z]{12})[.-]/.exec(key.split('/').at(-1) ?? '') ?? [];
    if (!id || key.includes('/') || named.has(id) || now - modified < STRAY_MS) continue;
    broken.push(`the file ${key} has no record`);
  }
  return broken.length > mostUnasked(files.size) ? [] : broken;
}

/** What waits for the administrator is known, so that it can be decided on. */
function forgottenReviews(held: string | null, { files }: FilesModel): string[] {
  const keys = [...files.keys()].filter((key) => key.startsWith('review/'));
  return keys
    .filter((key) => !held?.includes(key.slice(7, 19)))
    .map((key) => `nobody knows of the file ${key}`);
}

/** Messages wait for the one before, which is tried for 13 minutes, while the receiver is hardly reached; then for one that is on its way. */
const TOLD_MS = 3_600_000;

/** A message that was tried so often is given up. */
const MOST_TRIES = 6;

/** Files without a record are left alone for an hour, and found by the next sweep. */
const STRAY_MS = 3 * 3_600_000;

/** The smaller versions take as much space as is counted for them. */
export function miscounted(counted: string | null, { files }: FilesModel): string[] {
  const versions = [...files].filter(([key]) => /^[0-9A-Za-z]{12}-/.test(key));
  const stored = versions.reduce((sum, [, { bytes }]) => sum + bytes.byteLength, 0);
  return stored === Number(counted) ? [] : [`${counted} bytes are counted for versions of ${stored}`];
}

/** Each picture that came and went was announced. */
function untold(
  { pictures, events, examined, forgotten }: Ledger,
  byId: ReadonlyMap<string, ImageRecord>,
): string[] {
  const told = (type: string) => new Set(events.filter((one) => one.type === type).map(({ id }) => id));
  const [stored, removed] = [told('stored'), told('removed')];
  const broken: string[] = [];
  for (const { id, name, inReview, isDoubtful } of pictures.values()) {
    if (isDoubtful) continue;
    examined.told++;
    if (!inReview && !stored.has(id)) broken.push(`nobody was told of ${name} (${id})`);
    if (stored.has(id) && !byId.has(id) && !removed.has(id) && !forgotten.has(id))
      broken.push(`nobody was told that ${name} (${id}) is gone`);
  }
  return broken;
}
