import type { ImageEvent } from '../../src/image/service.ts';
import type { Album } from './albums.ts';
import type { Copy } from './copy.ts';
import type { Disaster } from './disasters.ts';
import type { Examined } from './examined.ts';
import type { Switch } from './switches.ts';
import { HOUR, MINUTE, SECOND } from './time.ts';

/** The number of views of a picture that are given back if they are broken off. */
export const GIVEN_BACK = 2;
/** Other copies may show for two seconds what one has changed, and answers take a while. */
export const GRACE_MS = 10 * SECOND;
/** A picture as its uploader knows it: what was acknowledged to him, and what he does not know. */
export interface Picture {
  /** Unique; also its file name and the beginning of its content. */
  name: string;
  content: string;
  id: string;
  path: string;
  token: string;
  /** When the upload was sent and acknowledged. */
  sentAt: number;
  at: number;
  /** When its clock said what, the copy that stored it may have been wrong. */
  byWrongClock: boolean;
  expiresIn: number | null;
  maxViews: number | null;
  /** How often a tenth of it or more was received. */
  shown: number;
  /** How often it was sent, at least in part, and how often clients left before that. */
  sent: number;
  left: number;
  /** When it was last shown, as far as the server can remember that. */
  seenAt: number;
  /** When the server may have noted that last: it does so once an hour. */
  notedAt: number;
  /** The last view that it must have noted, because there was none for an hour before. */
  writtenAt: number;
  /** When it was last asked for, and how many wait for it. */
  askedAt: number;
  waiting: number;
  password: string | null;
  /** What a stranger may be answered: true: the picture, false: a question for the password; both: unknown. */
  open: Set<boolean>;
  /** Since when the last change is acknowledged, by which copy, and how many were begun. */
  openSince: number;
  openBy: Copy | null;
  changes: number;
  /** How many changes copies are at work on, and until when one that nobody has acknowledged may still come. */
  changing: number;
  unclearUntil: number;
  /** When a deletion was first asked for, and when it was acknowledged. */
  removalAskedAt: number | null;
  removedAt: number | null;
  removedBy: Copy | null;
  inReview: boolean;
  /** Whether the administrator has tried to allow it. */
  wasAllowed: boolean;
  /** Whether what was acknowledged of it was written to a store that was then replaced. */
  isDoubtful: boolean;
  /** Whether somebody views it again and again, and nobody removes it. */
  isFavourite: boolean;
}

/** An upload that its user believes to have failed. */
export interface Failure {
  name: string;
  at: number;
  by: Copy | null;
  /** Whether the client did not wait for the answer. */
  hasLeft: boolean;
}

/** What a copy has sent to the receiver of webhooks. */
export interface Message {
  by: Copy;
  at: number;
  received: boolean;
  /** How often it was tried. */
  tries: number;
}

/** What the users know, and what was told to webhooks. */
export interface Ledger {
  pictures: Map<string, Picture>;
  albums: Album[];
  switches: Switch[];
  failures: Failure[];
  events: { type: ImageEvent['type']; id: string; at: number }[];
  messages: Message[];
  /** When the receiver of webhooks could be reached again. */
  reachedAt: number[];
  /** Pictures with which something was begun that could not be written down, by a copy that died within a minute. */
  forgotten: Set<string>;
  /** Broken promises, as sentences. */
  broken: Set<string>;
  examined: Examined;
  disaster: Disaster | null;
  retentionMs: number;
  /** Whether nothing goes wrong but clients who leave. */
  isCalm: boolean;
  /** Whether the records are full for a while: entries of reviews that lead to nothing stay then. */
  isFull: boolean;
  /** Whether all clocks are right. */
  isTimely: boolean;
  /** Since when they are. */
  timelySince: number;
  /** Whether a clock that is wrong cannot end what has not expired: one that is ahead by days is in doubt. */
  keepsTime: boolean;
  /** How far a clock is ahead at times, unless that is in doubt. */
  aheadMs: number;
  /** When no copy ran. */
  pauses: { from: number; to: number }[];
}

/** Accesses are noted once an hour, and written some seconds later. */
const ACCESS_MS = HOUR + MINUTE;
export const NOTED_MS = MINUTE;
/** A pause of this length is noticed. */
const PAUSE_MS = 11 * MINUTE;
/** A clock that is right may still be some time off, and what ends is looked for four times a minute. */
export const MARGIN_MS = 2 * MINUTE;

/** Whether a picture must be there: nobody has removed it, and it has neither expired nor been idle for too long. */
export function mustStay(picture: Picture, now: number, ledger: Ledger): boolean {
  const { removalAskedAt, inReview, byWrongClock, expiresIn, maxViews, isDoubtful } = picture;
  const { sentAt, seenAt, writtenAt } = picture;
  if (removalAskedAt !== null || inReview || maxViews !== null || isDoubtful) return false;
  if (expiresIn !== null) return !byWrongClock && now <= sentAt + expiresIn - MARGIN_MS;
  const idleSince = (since: number) => servedSince(Math.max(sentAt, since), now, ledger);
  if (ledger.isTimely && idleSince(writtenAt) <= ledger.retentionMs - MARGIN_MS) return true;
  return idleSince(seenAt) <= ledger.retentionMs - ACCESS_MS;
}

/** How long the server ran since then, except for pauses that are too short for it to notice. */
function servedSince(since: number, now: number, { pauses }: Ledger): number {
  const missed = pauses
    .filter(({ from, to }) => to - from >= PAUSE_MS)
    .map(({ from, to }) => Math.max(0, Math.min(to, now) - Math.max(from, since)));
  return now - since - missed.reduce((sum, ms) => sum + ms, 0);
}
