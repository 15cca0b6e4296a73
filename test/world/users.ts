import { createAlbumUser } from './albums.ts';
import { between, chance, happens, oneOf, whole } from './chance.ts';
import { ADMIN, type Copy } from './copy.ts';
import { isDuring } from './disasters.ts';
import { createHost } from './guests.ts';
import { GIVEN_BACK, GRACE_MS, type Ledger, mustStay, NOTED_MS, type Picture } from './ledger.ts';
import { createAdministrator } from './switches.ts';
import { HOUR, later, MINUTE, pause, SECOND, stirring, trueTime } from './time.ts';
import { read } from './transfers.ts';
import { createUploader } from './uploads.ts';

/** Clients give up after this time. */
const PATIENCE_MS = 90 * SECOND;
const HOST = 'http://img.example';
/** What a client who has died has asked for may come so much later. */
const ASTRAY_MS = 31 * SECOND;

export interface Surroundings {
  ledger: Ledger;
  copies(): readonly Copy[];
  trace(line: string): void;
}

export interface Answer {
  status: number;
  body: Uint8Array;
  copy: Copy;
}

/** Why a request is not answered: the copy died, or the client left. */
export type Unanswered = 'lost' | 'left';

/** Sends a request to any copy. `leaveMs`: leaves after that time. `mostShare`: reads no more of the body. */
export type Ask = (
  method: string,
  path: string,
  init?: {
    body?: string;
    headers?: Record<string, string>;
    leaveMs?: number;
    mostShare?: number;
    sentTo?: (copy: Copy) => void;
    /** Called when the copy has done with it, also if the client has left long before. */
    ended?: (answer: Answer | 'lost') => void;
  },
) => Promise<Answer | Unanswered>;

export type User = ReturnType<typeof createUser>;

/** One user of the image host, who does things at random. */
export function createUser(name: string, around: Surroundings) {
  const { ledger, trace } = around;
  const peer = `198.51.100.${whole(1, 250)}`;

  const ask: Ask = async (method, path, init = {}) => {
    const alive = around.copies().filter(({ isAlive, isLeaving }) => isAlive && !isLeaving);
    if (alive.length === 0) return 'lost';
    const copy = oneOf(alive);
    init.sentTo?.(copy);
    const leaving = new AbortController();
    const { promise: gone, resolve: leave } = Promise.withResolvers<Unanswered>();
    const patienceMs = happens(0.2) ? between(1, 15) * SECOND : PATIENCE_MS;
    later(init.leaveMs ?? patienceMs, () => {
      leaving.abort();
      leave('left');
    });
    const { body, headers } = init;
    const request = new Request(HOST + path, {
      method,
      signal: leaving.signal,
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    });
    const answered = (async (): Promise<Answer | 'lost'> => {
      try {
        const response = await copy.ask(request, peer);
        return { status: response.status, body: await read(response, leaving.signal, init.mostShare), copy };
      } catch {
        return 'lost';
      }
    })();
    if (init.ended) void answered.then(init.ended);
    const answer = await Promise.race([stirring(answered), gone]);
    // Only an upload whose conversion failed has nothing better to say.
    if (
      typeof answer !== 'string' &&
      answer.status === 500 &&
      !(method === 'POST' && /\/(upload|add)(\?|$)/.test(path))
    )
      breaks(`${method} ${path} is answered 500`);
    trace(`${name} ${method} ${path} ${typeof answer === 'string' ? answer : answer.status} by ${copy.name}`);
    return answer;
  };

  const json = ({ body }: Answer) => JSON.parse(new TextDecoder().decode(body));

  /** Notes that something was written of a picture since then, perhaps to a store that is replaced. */
  function wrote(picture: Picture, since: number): void {
    const { disaster } = ledger;
    if (disaster?.store === 'records' && isDuring(disaster, since, trueTime())) picture.isDoubtful = true;
  }

  async function view(picture = pick(), share = happens(0.2) ? chance() : 1): Promise<void> {
    if (!picture) return;
    const stranger = picture.password === null || happens(0.5);
    const begun = trueTime();
    const { removedAt: wasRemoved, removedBy, openSince: since, openBy } = picture;
    const open = new Set(picture.open);
    const wasInReview = picture.inReview;
    const isHeld = wasInReview && !picture.wasAllowed;
    const [isFirst, askedAt] = [picture.waiting === 0, picture.askedAt];
    picture.waiting++;
    picture.askedAt = begun;
    const answer = await ask('GET', picture.path, {
      ...(!stranger && { headers: { 'x-image-password': picture.password ?? '' } }),
      ...(share < 1 && { mostShare: share }),
      ...(happens(0.05) && { leaveMs: between(1, 100) }),
      ended: () => asked(picture),
    });
    picture.waiting--;
    if (answer === 'left') picture.left++;
    if (answer === 'lost' && picture.maxViews !== null) await pause(ASTRAY_MS + MINUTE);
    if (typeof answer === 'string') return;
    // What has ended is removed four times a minute.
    const hasEnded = (copy: Copy) => askedAt + ASTRAY_MS < copy.startedAt && copy.startedAt + MINUTE < begun;
    if (isFirst && isBusy(answer) && answer.copy.isAlone && hasEnded(answer.copy))
      breaks(`${picture.name} (${picture.id}) is said to be viewed, which ended with a copy that died`);
    if (answer.status === 507 && picture.maxViews === null)
      breaks(`${picture.name} is not shown in a full store`);
    const { disaster } = ledger;
    const isStruck = isDuring(disaster, begun - GRACE_MS, trueTime() + GRACE_MS);
    if (disaster?.store === 'records' && isDuring(disaster, begun - GRACE_MS, trueTime() + MINUTE)) {
      if (picture.maxViews !== null) wrote(picture, begun);
      return;
    }
    // A copy whose clock is ahead cannot know that something has not expired yet.
    const isTimed = picture.expiresIn !== null;
    const isTimely = begun > ledger.timelySince && !picture.byWrongClock;
    const mustBeThere =
      !isStruck &&
      !wasInReview &&
      begun > picture.at + GRACE_MS &&
      (!isTimed || (isTimely && ledger.keepsTime));
    if (mustBeThere && mustStay(picture, begun, ledger)) {
      ledger.examined.kept++;
      if ([404, 410].includes(answer.status))
        breaks(`${picture.name} (${picture.id}) was acknowledged, and was not there (${answer.status})`);
    }
    // The copy that has changed it knows that at once.
    const isOld = (when: number, by: Copy | null) => begun > when + (by === answer.copy ? 0 : GRACE_MS);
    const isGone = wasRemoved !== null && isOld(wasRemoved, removedBy) && !picture.isDoubtful;
    const isOver = isTimed && isTimely && begun > picture.at + (picture.expiresIn ?? 0);
    const isClosed = stranger && !open.has(true) && isOld(since, openBy) && !picture.isDoubtful;
    const isHidden = isHeld && picture.inReview && !picture.wasAllowed;
    if (isGone || isOver) ledger.examined.gone++;
    if (isHidden) ledger.examined.review++;
    if (isClosed) ledger.examined.closed++;
    if (picture.maxViews !== null) ledger.examined.limited++;
    if (answer.status !== 200) return;
    const text = new TextDecoder().decode(answer.body);
    if (text !== '' && !picture.content.startsWith(text))
      breaks(`${picture.name} (${picture.id}) has changed its content`);
    picture.sent++;
    if (text.length * 10 >= picture.content.length) picture.shown++;
    if (text.length === picture.content.length) {
      if (begun - picture.notedAt >= HOUR) picture.notedAt = begun;
      // Other copies learn some seconds later that what seemed to be idle is not.
      const isKnown = answer.copy.isAlone || mustStay(picture, begun + NOTED_MS, ledger);
      if (isKnown && !wasRemovedSince(picture, begun))
        noteView(picture, begun, { by: answer.copy, isFirst: begun - askedAt > HOUR + MINUTE });
    }
    if (picture.maxViews !== null && picture.shown > picture.maxViews && !picture.isDoubtful)
      breaks(`${picture.name} (${picture.id}) was shown ${picture.shown} times of ${picture.maxViews}`);
    // A server alone keeps such limits in its memory.
    const spare = GIVEN_BACK * (answer.copy.isAlone ? ledger.pauses.length : 1);
    if (picture.maxViews !== null && picture.sent > picture.maxViews + spare && !picture.isDoubtful)
      breaks(`${picture.name} (${picture.id}) was sent ${picture.sent} times of ${picture.maxViews}`);
    if (isGone) breaks(`${picture.name} (${picture.id}) is shown after its deletion`);
    if (isHidden) breaks(`${picture.name} (${picture.id}) is shown before the administrator has seen it`);
    if (isOver) breaks(`${picture.name} (${picture.id}) is shown after its expiry`);
    if (isClosed) breaks(`${picture.name} (${picture.id}) is shown without its password`);
  }

  /** A copy that stands still may show what was asked of it when its client is long gone. */
  function asked(picture: Picture): void {
    picture.askedAt = trueTime();
  }

  const wasRemovedSince = (picture: Picture, since: number) =>
    ledger.events.some(({ type, id, at }) => type === 'removed' && id === picture.id && at >= since);

  /** A view counts once it is written down: by a copy that lives, does not stand still, and reaches the records. */
  function noteView(picture: Picture, at: number, how: { by: Copy; isFirst: boolean }): void {
    const { by, isFirst } = how;
    later(NOTED_MS, () => {
      if (!by.isAlive && !by.hasEnded) return;
      const hinderedAt = Math.max(by.unwrittenAt, by.frozenUntil ?? 0);
      if (by.isAlive && trueTime() - hinderedAt < NOTED_MS) return noteView(picture, at, how);
      // What was idle may have been on its way out of a store that was late.
      if (!ledger.isCalm && wasRemovedSince(picture, at)) return;
      picture.seenAt = Math.max(picture.seenAt, at);
      if (isFirst) picture.writtenAt = Math.max(picture.writtenAt, at);
    });
  }

  /** Breaks views off again and again. */
  async function peek(): Promise<void> {
    const picture = [...ledger.pictures.values()].findLast(({ maxViews }) => maxViews !== null);
    for (let times = 0; times < 4; times++) await view(picture, 0.1 * chance());
  }

  async function remove(picture = pick()): Promise<void> {
    if (!picture || picture.isFavourite) return;
    const since = trueTime();
    picture.removalAskedAt ??= since;
    picture.changes++;
    const answer = await ask('DELETE', `/api/delete/${picture.id}`, {
      headers: { 'x-delete-token': picture.token },
    });
    wrote(picture, since);
    if (typeof answer === 'string') return;
    if (answer.status === 507) breaks(`${picture.name} is not deleted in a full store`);
    if (answer.status === 200) await removed(picture, answer.copy);
  }

  /** Who has removed a picture looks whether it is gone. */
  async function removed(picture: Picture, by: Copy): Promise<void> {
    picture.removedAt ??= trueTime();
    picture.removedBy ??= by;
    await pause(oneOf([1, GRACE_MS + SECOND]));
    await view(picture, 1);
  }

  /** A copy that stands still may carry out what was asked of it when its client is long gone. */
  function patch(picture: Picture, wish: object): Promise<Answer | Unanswered> {
    picture.changes++;
    picture.changing++;
    return ask('PATCH', `/api/image/${picture.id}`, {
      body: JSON.stringify(wish),
      headers: { 'x-delete-token': picture.token, 'content-type': 'application/json' },
      ended(answer) {
        picture.changing--;
        if (answer === 'lost' || answer.status !== 200) picture.unclearUntil = trueTime() + ASTRAY_MS;
      },
    });
  }

  async function change(): Promise<void> {
    const picture = pick();
    if (!picture || picture.inReview) return;
    // Who changes it mostly has it before him, and looks at it again.
    const looks = happens(0.5);
    if (looks) await view(picture, 1);
    const since = trueTime();
    const protect = happens(0.5);
    const serial = picture.changes + 1;
    picture.open.add(!protect);
    const wish = protect
      ? { visibility: 'protected', password: 'open sesame' }
      : { visibility: picture.maxViews === null ? 'public' : 'unlisted' };
    const answer = await patch(picture, wish);
    wrote(picture, since);
    if (typeof answer === 'string' || answer.status !== 200) return;
    picture.password = protect ? 'open sesame' : picture.password;
    // Of two changes at once, nobody knows which was the last.
    const isClear = picture.changing === 0 && trueTime() > picture.unclearUntil;
    if (serial === picture.changes && isClear) picture.open = new Set([!protect]);
    if (!ledger.events.some(({ type, id, at }) => type === 'changed' && id === picture.id && at >= since))
      breaks(`nobody was told of the change of ${picture.name} (${picture.id})`);
    picture.changes++;
    picture.openSince = trueTime();
    picture.openBy = answer.copy;
    if (!looks) return;
    await pause(1);
    await view(picture, 1);
  }

  /** Two changes at once: each that is acknowledged must have done what was asked. */
  async function changeTwice(): Promise<void> {
    const picture = pick();
    if (!picture?.password || picture.inReview) return;
    const since = trueTime();
    picture.open.add(true);
    const wishes = [
      { visibility: picture.maxViews === null ? 'public' : 'unlisted' },
      { visibility: 'protected' },
    ];
    const answers = await Promise.all(wishes.map((wish) => patch(picture, wish)));
    wrote(picture, since);
    picture.changes++;
    picture.unclearUntil = trueTime() + ASTRAY_MS;
    for (const [index, answer] of answers.entries()) {
      if (typeof answer === 'string' || answer.status !== 200) continue;
      const { visibility } = json(answer);
      const wish = wishes[index]?.visibility;
      if (visibility !== wish)
        breaks(`${picture.name} (${picture.id}) is ${visibility}, which was to be ${wish}`);
    }
  }

  /** Asks for a smaller version. */
  async function viewSmall(picture = pick(), width = oneOf([160, 640])): Promise<void> {
    if (!picture || picture.maxViews !== null) return;
    asked(picture);
    const answer = await ask('GET', `${picture.path}?w=${width}`, {
      headers: { 'x-image-password': picture.password ?? '' },
      ended: () => asked(picture),
    });
    if (typeof answer === 'string' || answer.status !== 200) return;
    const text = new TextDecoder().decode(answer.body);
    if (!picture.content.startsWith(text))
      breaks(`${picture.name} (${picture.id}) is another picture when small`);
  }

  /** The administrator allows or blocks a picture in review. */
  async function decide(picture = inReview()): Promise<void> {
    if (!picture) return;
    // An administrator who does not know whether it was allowed rather blocks it.
    const verdict = !picture.wasAllowed && happens(0.6) ? 'allow' : 'block';
    const since = trueTime();
    const waited = !picture.wasAllowed && picture.removalAskedAt === null && picture.expiresIn === null;
    const changes = ++picture.changes;
    picture.wasAllowed = true;
    if (verdict === 'block') picture.removalAskedAt ??= since;
    const answer = await ask('POST', '/api/admin/reviews', {
      body: JSON.stringify({ id: picture.id, verdict }),
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
    });
    // It was moved among files that are others.
    if (isDuring(ledger.disaster, since, trueTime())) picture.isDoubtful = true;
    if (verdict === 'allow' && (typeof answer === 'string' || answer.status === 503))
      await (happens(0.5) ? decide(picture) : remove(picture));
    if (typeof answer === 'string') return;
    const waits = waited && !picture.isDoubtful && !isDuring(ledger.disaster, since - GRACE_MS, trueTime());
    if (waits) ledger.examined.review++;
    // Somebody else may have deleted it meanwhile, or decided.
    if (answer.status === 404 && waits && changes === picture.changes)
      breaks(`${picture.name} (${picture.id}) was to be decided on, and is not in review`);
    if (answer.status !== 200) return;
    // It counts as viewed then.
    asked(picture);
    if (verdict === 'allow') picture.inReview = false;
    else await removed(picture, answer.copy);
  }

  const inReview = () => oneOf([...ledger.pictures.values()].filter((one) => one.inReview));

  async function cleanUp(): Promise<void> {
    const cleaned = ask('POST', '/api/cleanup', { headers: { authorization: `Bearer ${ADMIN}` } });
    // Another copy learns of a view only when it has been written.
    const all = [...ledger.pictures.values()].filter(isKept);
    const idle = around.copies().length > 1 ? [] : all.filter(isIdle).slice(-3);
    await Promise.all([cleaned, ...idle.map((picture) => view(picture))]);
    await pause(NOTED_MS + SECOND);
    // What its views alone have kept.
    const viewed = all.filter(({ sentAt }) => trueTime() - sentAt > ledger.retentionMs).slice(-5);
    for (const picture of new Set([...idle, ...viewed])) await view(picture);
  }

  const isKept = (one: Picture) => (one.removalAskedAt ?? one.expiresIn ?? one.maxViews) === null;
  const isIdle = ({ notedAt }: Picture) => trueTime() - notedAt > ledger.retentionMs - MINUTE;
  const isBusy = ({ status, body }: Answer) =>
    status === 429 && new TextDecoder().decode(body).includes('The last view');

  /** Mostly a recent one. */
  function pick(): Picture | undefined {
    const all = [...ledger.pictures.values()];
    if (all.length === 0) return undefined;
    return all[Math.max(0, all.length - 1 - Math.floor(chance() ** 2 * all.length))];
  }

  function breaks(promise: string): void {
    trace(`BROKEN ${promise}`);
    ledger.broken.add(promise);
  }

  const albums = createAlbumUser({ ask, ledger, breaks });
  const administrator = createAdministrator({ ask, ledger, breaks });
  const upload = createUploader({ name, ask, ledger, breaks, view });
  const receive = createHost({ ledger, albums, upload, breaks });

  const ACTIONS: readonly (readonly [number, () => Promise<void>])[] = [
    [0.22, () => upload()],
    [0.01, async () => void (await Promise.all([upload({ mustWait: true }), upload({ mustWait: true })]))],
    [0.19, () => view()],
    [0.02, peek],
    [0.11, albums.act],
    [0.05, receive],
    [0.04, administrator.act],
    [0.08, () => viewSmall()],
    [0.08, () => remove()],
    [0.06, change],
    [0.03, changeTwice],
    [0.09, () => decide()],
    [0.02, cleanUp],
  ];

  return {
    /** Does something. */
    async act(): Promise<void> {
      let place = chance();
      for (const [share, action] of ACTIONS) {
        place -= share;
        if (place < 0) return action();
      }
    },
    upload,
    view,
    viewSmall,
    makeAlbum: albums.make,
    lookAtAlbum: albums.look,
    trySwitches: administrator.lookAtAll,
  };
}
