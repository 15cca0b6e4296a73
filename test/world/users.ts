import { createAlbumUser } from './albums.ts';
import { between, chance, happens, oneOf, whole } from './chance.ts';
import { ADMIN, type Copy, SUSPECT } from './copy.ts';
import { isDuring } from './disasters.ts';
import { GIVEN_BACK, GRACE_MS, type Ledger, mustStay, NOTED_MS, type Picture } from './ledger.ts';
import { HOUR, later, MINUTE, pause, SECOND, stirring, trueTime } from './time.ts';
import { formOf, read } from './transfers.ts';

/** When the files are gone, uploads go on for this time. */
const UNNOTICED_MS = 3 * SECOND;
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

interface Answer {
  status: number;
  body: Uint8Array;
  copy: Copy;
}

/** Why a request is not answered: the copy died, or the client left. */
type Unanswered = 'lost' | 'left';

/** Sends a request to any copy. `leaveMs`: leaves after that time. `mostShare`: reads no more of the body. */
export type Ask = (
  method: string,
  path: string,
  init?: { body?: string; headers?: Record<string, string>; leaveMs?: number; mostShare?: number },
) => Promise<Answer | Unanswered>;

/** One user of the image host, who does things at random. */
export function createUser(name: string, around: Surroundings) {
  const { ledger, trace } = around;
  const peer = `198.51.100.${whole(1, 250)}`;
  let serial = 0;

  const ask: Ask = async (method, path, init = {}) => {
    const alive = around.copies().filter(({ isAlive, isLeaving }) => isAlive && !isLeaving);
    if (alive.length === 0) return 'lost';
    const copy = oneOf(alive);
    const leaving = new AbortController();
    const { promise: gone, resolve: leave } = Promise.withResolvers<Unanswered>();
    later(init.leaveMs ?? PATIENCE_MS, () => {
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
    const answered = (async (): Promise<Answer | Unanswered> => {
      try {
        const response = await copy.ask(request, peer);
        return { status: response.status, body: await read(response, leaving.signal, init.mostShare), copy };
      } catch {
        return 'lost';
      }
    })();
    const answer = await Promise.race([stirring(answered), gone]);
    if (typeof answer !== 'string' && method === 'GET' && answer.status === 500)
      breaks(`${path} is answered 500`);
    trace(`${name} ${method} ${path} ${typeof answer === 'string' ? answer : answer.status} by ${copy.name}`);
    return answer;
  };

  const json = ({ body }: Answer) => JSON.parse(new TextDecoder().decode(body));

  async function upload(mustWait = false): Promise<void> {
    const many = !mustWait && happens(0.25) ? whole(2, 3) : 1;
    const names = Array.from({ length: many }, () => `${name}-${serial++}.webp`);
    const suspect = mustWait || (many === 1 && happens(0.15));
    const contents = names.map((one) => (suspect ? `${SUSPECT} ` : '') + one.padEnd(whole(300, 3000), '.'));
    const wishes = {
      ...(happens(0.25) && { expires_in: oneOf(['10m', '20m', '45m', '2h']) }),
      ...(happens(0.25) && { max_views: String(whole(1, 3)) }),
      ...(happens(0.2) && { password: 'open sesame' }),
    };
    const query = new URLSearchParams({ ...wishes, ...(many === 1 && { filename: names[0] ?? '' }) });
    const sentAt = trueTime();
    const form = many > 1 ? formOf(names, contents) : null;
    const leaves = happens(0.1);
    const answer = await ask('POST', `/api/upload?${query}`, {
      body: form?.body ?? contents[0] ?? '',
      headers: { 'content-type': form?.type ?? 'application/octet-stream' },
      // Mostly while it is being stored.
      ...(leaves && { leaveMs: 200 * chance() ** 4 }),
    });
    // Nobody can know whether it was stored.
    if (answer === 'lost') return;
    const isDoubtful = isDuring(ledger.disaster, sentAt, trueTime());
    if (answer === 'left' || answer.status !== 201) {
      // What failed is taken back where it was written.
      if (!isDoubtful) for (const one of names) ledger.failures.push({ name: one, at: trueTime() });
      return;
    }
    const said = json(answer);
    const results: Record<string, string>[] = said.results ?? [said];
    for (const [index, one] of names.entries()) {
      const image = results[index];
      if (!image?.id) {
        ledger.failures.push({ name: one, at: trueTime() });
        continue;
      }
      ledger.pictures.set(one, {
        name: one,
        content: contents[index] ?? '',
        id: image.id,
        path: new URL(image.raw_url ?? HOST).pathname,
        token: image.delete_token ?? '',
        sentAt,
        at: trueTime(),
        byWrongClock: answer.copy.skewMs !== 0,
        expiresIn: wishes.expires_in ? LIVES[wishes.expires_in as keyof typeof LIVES] : null,
        maxViews: wishes.max_views ? Number(wishes.max_views) : null,
        ...{ shown: 0, sent: 0, left: 0, seenAt: sentAt, notedAt: sentAt, askedAt: sentAt, waiting: 0 },
        password: wishes.password ?? null,
        open: new Set([!wishes.password]),
        openSince: trueTime(),
        removalAskedAt: null,
        removedAt: null,
        inReview: suspect,
        wasAllowed: false,
        isDoubtful,
      });
    }
    const { store, found, from, until } = ledger.disaster ?? {};
    const areGone = store === 'files' && found === null && from && sentAt > from + UNNOTICED_MS;
    if (areGone && trueTime() < (until ?? 0) && hadPictures(from))
      breaks(`${names[0]} was acknowledged while all files were missing`);
  }

  /** Whether a picture that was there then is there still. */
  const hadPictures = (then: number) =>
    [...ledger.pictures.values()].some(
      (picture) => picture.at < then && mustStay(picture, trueTime(), ledger),
    );

  /** Notes that something was written of a picture since then, perhaps to a store that is replaced. */
  function wrote(picture: Picture, since: number): void {
    const { disaster } = ledger;
    if (disaster?.store === 'records' && isDuring(disaster, since, trueTime())) picture.isDoubtful = true;
  }

  async function view(picture = pick(), share = happens(0.2) ? chance() : 1): Promise<void> {
    if (!picture) return;
    const stranger = picture.password === null || happens(0.5);
    const begun = trueTime();
    const [wasRemoved, open, since] = [picture.removedAt, new Set(picture.open), picture.openSince];
    const [isFirst, askedAt] = [picture.waiting === 0, picture.askedAt];
    picture.waiting++;
    picture.askedAt = begun;
    const answer = await ask('GET', picture.path, {
      ...(!stranger && { headers: { 'x-image-password': picture.password ?? '' } }),
      ...(share < 1 && { mostShare: share }),
      ...(happens(0.05) && { leaveMs: between(1, 100) }),
    });
    picture.waiting--;
    if (answer === 'left') picture.left++;
    if (answer === 'lost' && picture.maxViews !== null) await pause(ASTRAY_MS + MINUTE);
    if (typeof answer === 'string') return;
    if (isFirst && isBusy(answer) && answer.copy.isAlone && askedAt + ASTRAY_MS < answer.copy.startedAt)
      breaks(`${picture.name} (${picture.id}) is said to be viewed, which ended with a copy that died`);
    if (answer.status === 507 && picture.maxViews === null)
      breaks(`${picture.name} is not shown in a full store`);
    const { disaster } = ledger;
    if (isDuring(disaster, begun - GRACE_MS, trueTime() + (disaster?.store === 'records' ? MINUTE : 0))) {
      if (picture.maxViews !== null) wrote(picture, begun);
      return;
    }
    // A copy whose clock is ahead cannot know that something has not expired yet.
    const mustBeThere = begun > picture.at + GRACE_MS && picture.expiresIn === null;
    if ([404, 410].includes(answer.status) && mustBeThere && mustStay(picture, begun, ledger))
      breaks(`${picture.name} (${picture.id}) was acknowledged, and was not there (${answer.status})`);
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
      later(NOTED_MS, () => {
        // A copy that dies before has noted nothing.
        if (isKnown && (answer.copy.isAlive || answer.copy.hasEnded))
          picture.seenAt = Math.max(picture.seenAt, begun);
      });
    }
    if (picture.maxViews !== null && picture.shown > picture.maxViews && !picture.isDoubtful)
      breaks(`${picture.name} (${picture.id}) was shown ${picture.shown} times of ${picture.maxViews}`);
    // A server alone keeps such limits in its memory.
    const spare = GIVEN_BACK * (answer.copy.isAlone ? ledger.pauses.length : 1);
    if (picture.maxViews !== null && picture.sent > picture.maxViews + spare && !picture.isDoubtful)
      breaks(`${picture.name} (${picture.id}) was sent ${picture.sent} times of ${picture.maxViews}`);
    if (wasRemoved !== null && begun > wasRemoved + GRACE_MS && !picture.isDoubtful)
      breaks(`${picture.name} (${picture.id}) is shown after its deletion`);
    if (stranger && !open.has(true) && begun > since + GRACE_MS && !picture.isDoubtful)
      breaks(`${picture.name} (${picture.id}) is shown without its password`);
  }

  /** Breaks views off again and again. */
  async function peek(): Promise<void> {
    const picture = [...ledger.pictures.values()].findLast(({ maxViews }) => maxViews !== null);
    for (let times = 0; times < 4; times++) await view(picture, 0.1 * chance());
  }

  async function remove(): Promise<void> {
    const picture = pick();
    if (!picture) return;
    const since = trueTime();
    picture.removalAskedAt ??= since;
    const answer = await ask('DELETE', `/api/delete/${picture.id}`, {
      headers: { 'x-delete-token': picture.token },
    });
    wrote(picture, since);
    if (typeof answer === 'string') return;
    if (answer.status === 507) breaks(`${picture.name} is not deleted in a full store`);
    if (answer.status === 200) picture.removedAt ??= trueTime();
  }

  async function change(): Promise<void> {
    const picture = pick();
    if (!picture || picture.inReview) return;
    const since = trueTime();
    const protect = happens(0.5);
    picture.open.add(!protect);
    const body = protect
      ? { visibility: 'protected', password: 'open sesame' }
      : { visibility: picture.maxViews === null ? 'public' : 'unlisted' };
    const answer = await ask('PATCH', `/api/image/${picture.id}`, {
      body: JSON.stringify(body),
      headers: { 'x-delete-token': picture.token, 'content-type': 'application/json' },
    });
    wrote(picture, since);
    if (typeof answer === 'string' || answer.status !== 200) return;
    picture.password = protect ? 'open sesame' : picture.password;
    picture.open = new Set([!protect]);
    picture.openSince = trueTime();
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
    const answers = await Promise.all(
      wishes.map((wish) =>
        ask('PATCH', `/api/image/${picture.id}`, {
          body: JSON.stringify(wish),
          headers: { 'x-delete-token': picture.token, 'content-type': 'application/json' },
        }),
      ),
    );
    wrote(picture, since);
    for (const [index, answer] of answers.entries()) {
      if (typeof answer === 'string' || answer.status !== 200) continue;
      const { visibility } = json(answer);
      const wish = wishes[index]?.visibility;
      if (visibility !== wish)
        breaks(`${picture.name} (${picture.id}) is ${visibility}, which was to be ${wish}`);
    }
  }

  /** Asks for a smaller version. */
  async function viewSmall(): Promise<void> {
    const picture = pick();
    if (!picture || picture.maxViews !== null) return;
    const answer = await ask('GET', `${picture.path}?w=${oneOf([160, 640])}`, {
      headers: { 'x-image-password': picture.password ?? '' },
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
    const waits = !picture.wasAllowed && picture.removalAskedAt === null && picture.expiresIn === null;
    picture.wasAllowed = true;
    if (verdict === 'block') picture.removalAskedAt ??= since;
    const answer = await ask('POST', '/api/admin/reviews', {
      body: JSON.stringify({ id: picture.id, verdict }),
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
    });
    wrote(picture, since);
    if (verdict === 'allow' && (typeof answer === 'string' || answer.status === 503)) await decide(picture);
    if (typeof answer === 'string') return;
    if (answer.status === 404 && waits && !picture.isDoubtful)
      breaks(`${picture.name} (${picture.id}) was to be decided on, and is not in review`);
    if (answer.status !== 200) return;
    if (verdict === 'allow') picture.inReview = false;
    else picture.removedAt ??= trueTime();
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

  const useAlbums = createAlbumUser({ ask, ledger, breaks });

  const ACTIONS: readonly (readonly [number, () => Promise<void>])[] = [
    [0.27, () => upload()],
    [0.01, async () => void (await Promise.all([upload(true), upload(true)]))],
    [0.23, () => view()],
    [0.02, peek],
    [0.11, useAlbums],
    [0.08, viewSmall],
    [0.08, remove],
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
    view,
  };
}

const LIVES = { '10m': 10 * MINUTE, '20m': 20 * MINUTE, '45m': 45 * MINUTE, '2h': 120 * MINUTE };
