import { happens, oneOf, whole } from './chance.ts';
import { isDuring } from './disasters.ts';
import { GRACE_MS, type Ledger, mustStay, type Picture } from './ledger.ts';
import { trueTime } from './time.ts';
import type { Answer, Ask } from './users.ts';

/** An album as its owner knows it. */
export interface Album {
  id: string;
  token: string;
  /** What must be in it, in order, as far as it was acknowledged. */
  pictures: string[];
  /** What may be in it: nobody was told whether it was added or taken out. */
  maybe: Set<string>;
  /** Whether the order is known. */
  isOrdered: boolean;
  at: number;
  /** When a deletion was first asked for, and when it was acknowledged. */
  removalAskedAt: number | null;
  removedAt: number | null;
  /** Whether what was acknowledged of it was written to a store that was then replaced. */
  isDoubtful: boolean;
}

interface Around {
  ask: Ask;
  ledger: Ledger;
  breaks(promise: string): void;
}

/** What a user does with albums of his own. */
export function createAlbumUser({ ask, ledger, breaks }: Around) {
  const own: Album[] = [];

  const some = (most: number) =>
    [...ledger.pictures.values()]
      .filter(({ removalAskedAt, inReview }) => removalAskedAt === null && !inReview)
      .slice(-whole(1, most));
  const added = (pictures: readonly Picture[]) =>
    pictures.map(({ id, token }) => ({ id, delete_token: token }));

  /** Sends something about an album. Returns the answer that acknowledges it; what none does may have been done. */
  async function change(album: Album, method: string, path: string, body?: object): Promise<Answer | null> {
    const since = trueTime();
    const answer = await ask(method, `/api/albums/${album.id}${path}`, {
      headers: { 'x-album-token': album.token, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { disaster } = ledger;
    if (disaster?.store === 'records' && isDuring(disaster, since, trueTime())) album.isDoubtful = true;
    if (typeof answer === 'string') return null;
    if (!album.isDoubtful && [400, 401, 403].includes(answer.status))
      breaks(`the owner of the album ${album.id} may not ${method}${path}`);
    return [200, 201].includes(answer.status) ? answer : null;
  }

  /** Returns an album of his own that stands. */
  const standing = () => oneOf(own.filter(({ removalAskedAt }) => removalAskedAt === null));

  async function make(pictures = some(4)): Promise<Album | undefined> {
    if (pictures.length === 0) return;
    const since = trueTime();
    const answer = await ask('POST', '/api/albums', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'Trip', images: added(pictures) }),
    });
    if (typeof answer === 'string' || answer.status !== 201) return;
    const { id, token } = JSON.parse(new TextDecoder().decode(answer.body));
    const album: Album = {
      ...{ id, token, pictures: pictures.map((one) => one.id), maybe: new Set(), isOrdered: true },
      ...{ at: trueTime(), removalAskedAt: null, removedAt: null },
      isDoubtful: ledger.disaster?.store === 'records' && isDuring(ledger.disaster, since, trueTime()),
    };
    ledger.albums.push(album);
    return album;
  }

  async function add(album: Album, pictures: readonly Picture[] = some(2)): Promise<void> {
    // An addition of nothing is rightly refused.
    if (pictures.length === 0) return;
    const isDone = await change(album, 'POST', '/images', { images: added(pictures) });
    // What is in it already stays in its place.
    if (pictures.some(({ id }) => album.maybe.has(id))) album.isOrdered = false;
    for (const { id } of pictures) {
      if (!isDone) album.maybe.add(id);
      else if (!album.pictures.includes(id)) album.pictures.push(id);
    }
  }

  /** Two additions at once: what was acknowledged is there, whichever came first. */
  async function addTwice(album: Album): Promise<void> {
    album.isOrdered = false;
    await Promise.all(some(2).map((picture) => add(album, [picture])));
  }

  async function takeOut(album: Album): Promise<void> {
    const id = oneOf(album.pictures);
    if (id === undefined) return;
    album.pictures = album.pictures.filter((one) => one !== id);
    if (!(await change(album, 'DELETE', `/images/${id}`))) album.maybe.add(id);
    else album.maybe.delete(id);
  }

  async function reorder(album: Album): Promise<void> {
    if (album.maybe.size > 0 || album.pictures.length < 2) return;
    const wanted = [...album.pictures].reverse();
    album.isOrdered &&= (await change(album, 'PATCH', '', { images: wanted })) !== null;
    if (album.isOrdered) album.pictures = wanted;
  }

  async function remove(album: Album): Promise<void> {
    album.removalAskedAt = trueTime();
    if (await change(album, 'DELETE', '')) album.removedAt = trueTime();
  }

  async function look(album: Album): Promise<void> {
    const begun = trueTime();
    const before = { ...album };
    const answer = await ask('GET', `/api/albums/${album.id}`);
    if (typeof answer === 'string' || ![200, 404, 410].includes(answer.status)) return;
    if (isDuring(ledger.disaster, begun - GRACE_MS, trueTime())) return;
    for (const promise of brokenOf(before, { ...answer, begun, ledger })) breaks(promise);
  }

  return {
    make,
    look,
    change,
    standing,
    /** Does something with an album. */
    async act(): Promise<void> {
      const made = own.length === 0 || happens(0.2) ? await make() : undefined;
      if (made) own.push(made);
      const album = oneOf(own);
      if (!album) return;
      const action = oneOf([add, addTwice, takeOut, reorder, remove, look]);
      if (album.removalAskedAt === null) await action(album);
      await look(album);
    },
  };
}

/** An answer about an album. */
interface Look {
  status: number;
  body: Uint8Array;
  begun: number;
  ledger: Ledger;
}

/** Returns what an answer says that was not promised. */
export function brokenOf(album: Album, { status, body, begun, ledger }: Look): string[] {
  const { id, pictures, isOrdered, removalAskedAt, removedAt, isDoubtful } = album;
  if (isDoubtful) return [];
  if (removedAt !== null && begun > removedAt + GRACE_MS)
    return status === 200 ? [`the album ${id} is shown after its deletion`] : [];
  if (removalAskedAt !== null) return [];
  const byId = new Map([...ledger.pictures.values()].map((picture) => [picture.id, picture]));
  const due = pictures.filter((one) => {
    const picture = byId.get(one);
    // A copy whose clock is ahead cannot know that something has not expired yet.
    return picture?.expiresIn === null && mustStay(picture, begun, ledger) && !picture.byWrongClock;
  });
  if (due.length === 0) return [];
  ledger.examined.album++;
  if (status !== 200) return [`the album ${id} was acknowledged, and is not there (${status})`];
  const { images } = JSON.parse(new TextDecoder().decode(body)) as { images: { id?: string }[] };
  const shown = images.flatMap((image) => image.id ?? []);
  const missing = due.filter((one) => !shown.includes(one) && byId.get(one)?.open.has(false) === false);
  if (missing.length > 0) return [`the album ${id} has lost ${missing}`];
  const inOrder = shown.filter((one) => due.includes(one));
  const wanted = due.filter((one) => shown.includes(one));
  return isOrdered && inOrder.join() !== wanted.join() ? [`the album ${id} is in another order`] : [];
}
