import type { Album } from './albums.ts';
import { oneOf } from './chance.ts';
import { type Ledger, mustStay, type Picture } from './ledger.ts';
import { HOUR, MINUTE, pause, SECOND, trueTime } from './time.ts';
import type { User } from './users.ts';

/** Number of favourites. */
const FAVOURITES = 2;

/** Somebody who comes back, again and again, until the end: what is viewed stays, however long it has been there. */
export function createVisitor(user: User, { ledger }: { ledger: Ledger }) {
  let album: Album | undefined;
  const seen = new Set<Picture>();
  const pictures = () => [...ledger.pictures.values()];
  const favourites = () =>
    pictures().filter((picture) => picture.isFavourite && mustStay(picture, trueTime(), ledger));

  return {
    trySwitches: user.trySwitches,
    /** Views the favourites, and sees to it that there are some, in an album. */
    async keepUp(): Promise<void> {
      if (favourites().length < FAVOURITES) await user.upload({ isFavourite: true });
      const own = favourites();
      if (own.length === FAVOURITES && !album?.pictures.some((id) => own.some((one) => one.id === id)))
        album = await user.makeAlbum(own);
      for (const picture of own) await user.view(picture, 1);
      if (album) await user.lookAtAlbum(album);
    },
    /**
     * Looks at what must be there for the last time: nobody would see later that it was removed too early. Without `all`, at what only
     * later views have kept.
     */
    async lookForLast(all: boolean): Promise<void> {
      const isLast = (one: Picture) =>
        (all || one.writtenAt > one.sentAt) &&
        mustStay(one, trueTime(), ledger) &&
        !mustStay(one, trueTime() + 2 * MINUTE, ledger);
      for (const picture of pictures().filter((one) => !seen.has(one) && isLast(one))) {
        seen.add(picture);
        await user.view(picture, 1);
      }
    },
    /** Views what nobody has viewed for an hour, which the server then has to write down. */
    async viewOld(): Promise<void> {
      const old = pictures().filter(
        (one) => trueTime() - one.notedAt > HOUR && mustStay(one, trueTime(), ledger),
      );
      await Promise.all(old.slice(-6).map((picture) => user.view(picture, 1)));
    },
    /** Views smaller versions of favourites, one after the other: what is counted for them is exact then. */
    async viewFavourites(): Promise<void> {
      for (const picture of favourites()) {
        await user.viewSmall(picture, oneOf([160, 640]));
        await user.view(picture, 1);
        // What two copies make at the same moment may be counted once.
        await pause(SECOND);
      }
    },
  };
}
