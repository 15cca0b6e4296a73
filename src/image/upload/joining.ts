import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import type { Caller } from '../../http/route.ts';
import { deleterOf } from '../access/deletion-rights.ts';
import type { Albums } from '../albums/albums.ts';
import { usedUp } from '../albums/invites.ts';
import type { AlbumKeeper } from '../albums/kept.ts';
import type { ImageService } from '../service.ts';
import type { Outcome, Uploaded } from './storing.ts';
import type { ParsedOptions } from './upload-options.ts';

type Named = Pick<ParsedOptions, 'album' | 'albumToken'>;

/** Adds the pictures of one request to the album that it names. */
export interface Joining {
  /** Like `demand`, if both the album and its token are already known. */
  look(options: Named): Promise<void>;
  /** Rejects if the album does not exist, is full, or is not the client's. Checks each album once. */
  demand(options: Named): Promise<void>;
  /**
   * Adds stored pictures to the album, in order. A picture that cannot be added after all remains an image without an
   * album, and its answer says so.
   */
  join(outcomes: readonly Outcome[], album: string | null): Promise<Outcome[]>;
  /** Takes pictures out of the album again that will be taken back. */
  undo?(pictures: readonly string[]): Promise<void>;
}

/** Returns who asks to change an album. */
export function keeperOf({ request, context }: Caller) {
  const token = request.headers.get('x-album-token') || null;
  return { token, admin: context.admin, log: deleterOf(request, context).log };
}

/** @throws {AppError} `invalid_parameter` if the token of an album is in the URL. */
export function createJoining(albums: Pick<Albums, 'demandRoom' | 'append'>, call: Caller): Joining {
  if (new URL(call.request.url).searchParams.has('album_token')) {
    throw invalidParameter(
      'album_token',
      inEnglish(
        'Do not send album_token in the URL, because URLs end up in logs. Send it as a field or in the header X-Album-Token.',
      ),
    );
  }
  let by: AlbumKeeper = keeperOf(call);
  let asked: string | null = null;

  /** Returns why the pictures are not in the album, or `null`. */
  async function faultOf(album: string, pictures: readonly string[]): Promise<AppError | null> {
    try {
      await albums.append(album, pictures, by);
      return null;
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  }

  function joined(outcome: Outcome, album: string, faults: ReadonlyMap<string, AppError | null>): Outcome {
    if (!('uploaded' in outcome)) return outcome;
    const { uploaded } = outcome;
    const fault = faults.get(uploaded.image.id) ?? null;
    if (fault === null) return { uploaded: { ...uploaded, album } };
    const warning: Uploaded['warnings'][number] = { code: 'not_in_album', message: fault.message };
    return { uploaded: { ...uploaded, warnings: [...uploaded.warnings, warning] } };
  }

  async function demand({ album, albumToken }: Named): Promise<void> {
    if (album === null) return;
    by = { ...by, token: albumToken ?? by.token };
    if (by.token === null && !by.admin) {
      throw invalidParameter(
        'album_token',
        inEnglish('album needs its token: send the header X-Album-Token or the field album_token.'),
      );
    }
    const known = `${album} ${by.token}`;
    if (asked !== known) await albums.demandRoom(album, by);
    asked = known;
  }

  return {
    demand,

    async look(options) {
      if (options.albumToken !== null || by.token !== null) await demand(options);
    },

    async join(outcomes, album) {
      const stored = outcomes.flatMap((outcome) =>
        'uploaded' in outcome ? [outcome.uploaded.image.id] : [],
      );
      if (album === null || stored.length === 0) return [...outcomes];
      const whole = await faultOf(album, stored);
      const faults = new Map(stored.map((id) => [id, whole]));
      // An album that is almost full takes those that fit.
      if (whole?.code === 'conflict') for (const id of stored) faults.set(id, await faultOf(album, [id]));
      return outcomes.map((outcome) => joined(outcome, album, faults));
    },
  };
}

/** Adds a guest's pictures to the album of an invitation. Those that find no room are taken back. */
export function createGuestJoining(
  { open, enter, leave }: Albums['invites'],
  takeBack: ImageService['takeBack'],
  [album, key]: [album: string, key: string],
): Joining {
  async function demand(): Promise<void> {
    if ((await open(album, key)).room < 1) throw usedUp();
  }

  return {
    look: demand,
    demand,
    undo: (pictures) => leave(album, key, pictures),

    async join(outcomes) {
      const stored = outcomes.flatMap((one) => ('uploaded' in one ? [one.uploaded] : []));
      const ids = stored.map(({ image }) => image.id);
      const added = new Set(await enter(album, key, ids));
      await Promise.all(stored.filter(({ image }) => !added.has(image.id)).map(takeBack));
      return outcomes.map((one): Outcome => {
        if (!('uploaded' in one)) return one;
        const { image } = one.uploaded;
        if (added.has(image.id)) return { uploaded: { ...one.uploaded, album } };
        return { filename: image.filename, fault: usedUp() };
      });
    },
  };
}
