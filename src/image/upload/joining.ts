import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import type { Albums } from '../albums/albums.ts';
import type { Outcome, Uploaded } from './storing.ts';
import type { ParsedOptions } from './upload-options.ts';

type Named = Pick<ParsedOptions, 'album' | 'albumToken'>;

/** Adds the pictures of one request to the album that it names. */
interface Joining {
  /** Like `demand`, if both the album and its token are already known. */
  look(options: Named): Promise<void>;
  /** Rejects if the album does not exist, is full, or is not the client's. Checks each album once. */
  demand(options: Named): Promise<void>;
  /**
   * Adds stored pictures to the album, in order. A picture that cannot be added after all remains an image without an
   * album, and its answer says so.
   */
  join(outcomes: readonly Outcome[], album: string | null): Promise<Outcome[]>;
}

/** Returns the token of an album from a header. */
export function albumTokenOf({ headers }: Request): string | null {
  return headers.get('x-album-token') || null;
}

/** @throws {AppError} `invalid_parameter` if the token of an album is in the URL. */
export function createJoining(
  albums: Pick<Albums, 'demandRoom' | 'append'>,
  request: Request,
  admin: boolean,
): Joining {
  if (new URL(request.url).searchParams.has('album_token')) {
    throw invalidParameter(
      'album_token',
      inEnglish(
        'Do not send album_token in the URL, because URLs end up in logs. Send it as a field or in the header X-Album-Token.',
      ),
    );
  }
  const inHeader = albumTokenOf(request);
  let asked: string | null = null;

  /** Returns why the pictures are not in the album, or `null`. */
  async function faultOf(album: string, pictures: readonly string[]): Promise<AppError | null> {
    try {
      await albums.append(album, pictures);
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
    const token = albumToken ?? inHeader;
    if (token === null && !admin) {
      throw invalidParameter(
        'album_token',
        inEnglish('album needs its token: send the header X-Album-Token or the field album_token.'),
      );
    }
    const known = `${album} ${token}`;
    if (asked !== known) await albums.demandRoom(album, { token, admin });
    asked = known;
  }

  return {
    demand,

    async look(options) {
      if (options.albumToken !== null || inHeader !== null) await demand(options);
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
