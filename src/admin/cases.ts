import type { Audit } from '../audit/audit.ts';
import { AppError } from '../errors.ts';
import { MOST_PICTURES } from '../image/albums/album.ts';
import { cutText } from '../image/upload/filename.ts';
import { clientNetwork } from '../lib/address.ts';
import type { Clock } from '../lib/clock.ts';
import { holding, type Locks, writeHeld } from '../lib/locks.ts';
import type { RateLimiter } from '../lib/rate-limiter.ts';
import { sha256 } from '../lib/secret.ts';
import type { StateStore } from '../lib/state.ts';
import { type By, MAX_TEXT, type Reason } from './desk.ts';

export interface Report {
  reason: Reason;
  text: string;
  /** Empty if the reporter wants no answer. */
  contact: string;
}

/** All reports about a picture or album that nobody has decided yet. */
export interface Case {
  /** `image <id>` or `album <id>`, as in the audit log. */
  subject: string;
  /** Of the first report, ms since 1970. */
  since: number;
  /** The first ones and the last, one from each network; of the others only the number is known. With SHA-256 of receipt and network. */
  reports: (Report & { receipt: string; from: string })[];
  count: number;
  /** SHA-256 of each receipt. */
  receipts: string[];
  /** Pictures of the album when it was reported: its owner may take them out, or delete it and keep them. */
  pictures?: string[];
  /** How many of them, the first, it had at the last report. */
  latest?: number;
}

export type Verdict = 'keep' | 'delete';

/** `last`: hash of the last report that the moderator has seen. Default: there are no others. */
export interface Decision {
  subject: string;
  verdict: Verdict;
  by: By;
  last?: string | undefined;
}

interface CasesOptions {
  state: Pick<StateStore, 'get' | 'setFenced' | 'remove' | 'keys'>;
  locks: Locks;
  limiter: RateLimiter;
  audit: Pick<Audit, 'act' | 'carry' | 'about'>;
  clock: Pick<Clock, 'now' | 'sleep'>;
  random: (length: number) => Uint8Array;
  /** Called with the first report of each case. */
  onOpened: (opened: Case) => void;
}

const KEY = 'report ';
const DECIDE = 'report.decide';
/** With texts and albums of the maximum length, some 20 MB in all. */
const MOST_CASES = 500;
const MOST_TEXTS = 5;
const MOST_RECEIPTS = 200;
/** From one network, and from all. */
const PER_NETWORK = { capacity: 10, perSecond: 10 / 3600 };
const IN_ALL = { capacity: 300, perSecond: 300 / 3600 };

export function createCases(options: CasesOptions) {
  const { state, locks, limiter, audit, clock, random, onOpened } = options;

  async function read(subject: string): Promise<Case | null> {
    const text = await state.get(KEY + subject);
    return text === null ? null : (JSON.parse(text) as Case);
  }

  const openKeys = async () => (await state.keys()).filter((key) => key.startsWith(KEY));

  const locked = <T>(work: (demandHeld: () => number) => Promise<T>, name = 'reports'): Promise<T> =>
    holding({ locks, name, clock }, work);

  async function demandCalm(key: string, bucket: typeof IN_ALL): Promise<void> {
    const { allowed, retryAfterMs } = await limiter.take(`abuse-report ${key}`, bucket);
    if (!allowed) throw new AppError('rate_limited', 'Too many reports; try again later.', { retryAfterMs });
  }

  const write = (one: Case, token: number) => writeHeld(state, KEY + one.subject, one, token);

  audit.carry(DECIDE, ({ subject, details }) =>
    locked(async (demandHeld) => {
      const known = await read(subject);
      const token = demandHeld();
      const decided = new Set(details?.receipts as string[]);
      const receipts = known?.receipts.filter((receipt) => !decided.has(receipt)) ?? [];
      if (known === null || receipts.length === 0) return state.remove(KEY + subject, token);
      // Reported again meanwhile: nobody has looked at that. The decision may have been carried out before.
      const reports = known.reports.filter(({ receipt }) => !decided.has(receipt));
      // Of several such reports, each may name what its owner has taken out before the next.
      const pictures = known.pictures?.slice(0, receipts.length > 1 ? undefined : known.latest) ?? [];
      return write({ ...known, reports, receipts, pictures, count: receipts.length }, token);
    }),
  );

  return {
    /** Records a report. Returns its receipt. Rejects with `rate_limited`, and `unavailable` if there are too many. */
    async report(subject: string, report: Report, peer: string, pictures: readonly string[] = []) {
      await demandCalm(clientNetwork(peer), PER_NETWORK);
      await demandCalm('all', IN_ALL);
      const secret = Buffer.from(random(16)).toString('base64url');
      const [receipt, from] = [sha256(secret), sha256(`${subject} ${clientNetwork(peer)}`)];
      await locked(async (demandHeld) => {
        const known = await read(subject);
        const one: Case = known ?? { subject, since: clock.now(), reports: [], count: 0, receipts: [] };
        const repeated = one.reports.find((other) => other.from === from);
        // One network leaves half to others.
        const most = repeated ? MOST_RECEIPTS / 2 : MOST_RECEIPTS;
        const isFull = known === null ? (await openKeys()).length >= MOST_CASES : one.receipts.length >= most;
        if (isFull) throw new AppError('unavailable', 'Too many reports; try again later.');
        one.count++;
        one.receipts.push(receipt);
        one.latest = pictures.length;
        const all = new Set([...pictures, ...(one.pictures ?? [])]);
        if (all.size > 0) one.pictures = [...all].slice(0, MOST_PICTURES);
        const text = cutText(report.text, MAX_TEXT);
        // Its text stays as long as one of its reports is open.
        if (repeated) repeated.receipt = receipt;
        else one.reports.splice(MOST_TEXTS - 1, 1, { ...report, text, receipt, from });
        await write(one, demandHeld());
        if (known === null) onOpened(one);
      });
      return `${subject.replace(' ', '-')}-${secret}`;
    },

    /** Returns what a receipt leads to. Rejects with `not_found` if it is unknown or too old. */
    async stateOf(receipt: string): Promise<'open' | Verdict> {
      const [, kind, id, secret = ''] = /^(image|album)-([0-9A-Za-z]{12})-([\w-]{22})$/.exec(receipt) ?? [];
      const subject = `${kind} ${id}`;
      const hash = sha256(secret);
      if (kind === undefined) throw unknown();
      if ((await read(subject))?.receipts.includes(hash)) return 'open';
      const mine = (await decisionsOn(audit, subject)).find(({ details }) =>
        (details?.receipts as string[] | undefined)?.includes(hash),
      );
      if (mine === undefined) throw unknown();
      return mine.details?.verdict as Verdict;
    },

    /** Returns what was decided last; `undefined` if nothing was. */
    lastVerdict: async (subject: string) =>
      (await decisionsOn(audit, subject))[0]?.details?.verdict as Verdict | undefined,

    /** Returns the open ones, oldest first. */
    async list(): Promise<Case[]> {
      const keys = await openKeys();
      const found = await Promise.all(keys.map((key) => read(key.slice(KEY.length))));
      return found.filter((one) => one !== null).sort((one, other) => one.since - other.since);
    },

    /**
     * Carries out a moderator's verdict and ends the case. Reports after the last that was seen keep it open, unless
     * there is nothing left to look at. Rejects with `not_found` if there is none, or another has just ended it.
     */
    decide: (
      { subject, verdict, by, last }: Decision,
      carryOut: (pictures: readonly string[]) => Promise<void>,
    ): Promise<void> =>
      // Of two verdicts at once, the second must not be the one that reporters read.
      locked(async (demandHeld) => {
        const known = await read(subject);
        if (known === null) throw unknown();
        const { reports, pictures = [] } = known;
        const isPart = verdict === 'keep' && last !== undefined;
        const receipts = known.receipts.slice(0, isPart ? known.receipts.indexOf(last) + 1 : undefined);
        if (receipts.length === 0) throw unknown();
        await carryOut(pictures);
        demandHeld();
        const why = reports[0]?.reason;
        await audit.act({ what: DECIDE, subject, ...by, why, details: { verdict, receipts } });
      }, 'report decisions'),
  };
}

/** Reports by strangers. One case for each subject, whatever the number of reports. */
export type Cases = ReturnType<typeof createCases>;

/** Newest first. */
const decisionsOn = async (audit: Pick<Audit, 'about'>, subject: string) =>
  (await audit.about(subject)).filter(({ what }) => what === DECIDE);
const unknown = () => new AppError('not_found', 'There is no such report, or it is too old.');
