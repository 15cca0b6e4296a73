import { AppError, invalidParameter, message } from '../../errors.ts';
import type { Call, Caller } from '../../http/route.ts';
import { unkept } from '../../http/unkept.ts';
import { forEachBounded } from '../../lib/for-each-bounded.ts';
import { acceptsHtml } from '../../web/page-response.ts';
import type { Uploader } from '../access/deletion-rights.ts';
import type { Albums } from '../albums/albums.ts';
import type { Pages } from '../pages/pages.ts';
import { linksOf } from '../records/links.ts';
import type { ImageService } from '../service.ts';
import { uploadsView, uploadView } from '../views.ts';
import { cleanFilename } from './filename.ts';
import { type FromUrl, fetchOrdered } from './from-url.ts';
import { createJoining, type Joining } from './joining.ts';
import type { BeforePicture } from './multipart.ts';
import { createRepetitions } from './repetitions.ts';
import { demandOne, type Outcome, type Uploaded } from './storing.ts';
import {
  noImage,
  OWN_SHAPE,
  type Received,
  type ReceivedFile,
  receiveUpload,
  type UploadShape,
} from './upload.ts';
import { type ParsedOptions, parseUploadOptions } from './upload-options.ts';
import { readUrlOrder } from './url-order.ts';

/** Files of one form that are converted at once, so that the client's other files do not wait long. */
const AT_ONCE = 4;
/** The options of a guest's pictures. */
const OF_GUESTS = { visibility: 'unlisted' };

interface Taken {
  /** The results in order; none if the shape allows a request without pictures. */
  outcomes: Outcome[];
  /** Text fields of the form; empty for a raw body. */
  fields: Readonly<Record<string, string>>;
}

export interface Taking {
  /** How the body carries pictures. Default: as a form with the field `image`. */
  shape?: UploadShape;
  /** Maps the text fields of the form, and of the query, to our options, for clients with other names. */
  optionsOf?: (fields: Readonly<Record<string, string>>) => Record<string, string>;
  /** Returns the URL that was sent instead of a picture, if the client can do that. Default: never. */
  urlOf?: (received: Received) => string | null | Promise<string | null>;
  /**
   * Called with the fields before the first picture is read or, if that is impossible, before it is fetched or
   * stored. Rejects to refuse the request.
   */
  judge?: (fields: Readonly<Record<string, string>>) => Promise<void>;
  /** How a guest's pictures join the album of the invitation. Guests choose no options. */
  guest?: Joining;
  /** True if no picture is stored unless all are. */
  whole?: boolean;
}

/** What the pictures of one request have in common. */
interface Storage {
  options: ParsedOptions;
  from: Uploader;
  signal: AbortSignal;
  /** What has been stored so far. */
  stored: Uploaded[];
  whole: boolean | undefined;
}

interface IntakeOptions {
  service: Pick<ImageService, 'limits' | 'folder' | 'now' | 'admit' | 'upload' | 'takeBack' | 'find'>;
  albums: Pick<Albums, 'demandRoom' | 'append'>;
  /** Counts one more upload of a client, by its address. Rejects with `rate_limited`. Default: unlimited. */
  countUpload?: ((peer: string) => Promise<void>) | undefined;
  /** `null` if URLs are not fetched. */
  fromUrl: FromUrl | null;
}

export function createIntake({ service, albums, countUpload, fromUrl }: IntakeOptions) {
  const repetitions = createRepetitions(service.now, (outcomes: Outcome[]) => isLeft(outcomes, service));

  async function storeOne(file: ReceivedFile, { options, from, signal, stored }: Storage): Promise<Uploaded> {
    const { filename, album: _, albumToken: __, ...wanted } = options;
    if (file.size === 0) throw noImage('image', file.filename);
    const named = (filename && cleanFilename(filename)) || file.filename;
    const uploaded = await service.upload({ ...file, filename: named }, wanted, from, signal);
    stored.push(uploaded);
    return uploaded;
  }

  /** A failure of one does not affect the others. */
  async function storeAll(files: readonly ReceivedFile[], storage: Storage): Promise<Outcome[]> {
    const field = (['filename', 'title', 'alt'] as const).find((one) => storage.options[one] !== null);
    if (field) {
      throw invalidParameter(field, message('{field} can be given for a single file only.', { field }));
    }
    const outcomes: Outcome[] = [];
    await forEachBounded(files.entries(), AT_ONCE, async ([index, file]) => {
      try {
        // The request itself was counted as the first one.
        if (index > 0) await countUpload?.(storage.from.peer);
        outcomes[index] = { uploaded: await storeOne(file, storage) };
      } catch (error) {
        if (storage.whole || !(error instanceof AppError)) throw error;
        outcomes[index] = { filename: file.filename, fault: error };
      }
    });
    demandOne(outcomes);
    return outcomes;
  }

  return {
    /**
     * Stores the pictures of a request. If one of several fails, the others are stored, unless `whole`; if all fail, it
     * rejects with the error of the first. If it rejects, nothing stays stored, as nobody would get the delete tokens;
     * so it is if the client has left. What was stored for an equal request with the same `Idempotency-Key` is returned
     * again. Rejects like `receiveUpload` for the body, with `invalid_parameter` for an option, and like the service.
     */
    async take(call: Caller, { shape, optionsOf, urlOf, judge, guest, whole }: Taking = {}): Promise<Taken> {
      const { request, context } = call;
      const { maxUploadBytes: maxBytes } = service.limits;
      // Read now, because the address is only available while the connection is open.
      const { peer, identity, payer, admin } = context;
      const query = Object.fromEntries(new URL(request.url).searchParams);
      const optionsIn = (fields: Readonly<Record<string, string>>) => {
        const sent = { ...query, ...fields };
        return parseUploadOptions(guest ? OF_GUESTS : (optionsOf?.(sent) ?? sent));
      };
      // Report faults in the query before the body arrives.
      const joining = guest ?? createJoining(albums, call);
      let full: AppError | null = null;
      /** That there is no room matters only to a picture that is not in. */
      const unlessRepeated = (error: AppError) => {
        if (error.code !== 'conflict' || !repetitions.mayRepeat(request)) throw error;
        full = error;
      };
      await joining.look(optionsIn({})).catch(unlessRepeated);
      // A body that announces too much is rejected for its size, not for lack of space.
      const announced = Number(request.headers.get('content-length')) || maxBytes;
      const admit = () => service.admit(Math.min(announced, maxBytes), payer);
      // A form that may have no picture can also delete one, for which there is always room.
      if (!shape?.optional) await admit();
      const { signal } = request;
      const judgeOnce = onlyOnce(judge);
      const beforePicture: BeforePicture = async (fields) => {
        if (shape?.optional) await admit();
        await judgeOnce?.(fields);
        await joining.look(optionsIn(fields)).catch(unlessRepeated);
      };
      const limits = { maxBytes, folder: service.folder, signal };
      const received = await receiveUpload(request, limits, shape, beforePicture);
      let taken = received;
      const stored: Uploaded[] = [];
      try {
        // Bodies of other services' clients are never orders in our format.
        const url = (await urlOf?.(received)) ?? null;
        const sent = url === null ? null : { url, fields: received.fields };
        const order = shape ? sent : await readUrlOrder(request, received);
        const { fields } = order ?? received;
        if (order === null && received.files.length === 0) return { outcomes: [], fields };
        await judgeOnce?.(fields);
        const options = optionsIn(fields);
        await joining.demand(options).catch(unlessRepeated);
        // Read after the token was judged, because a token may pay.
        const from = { peer, identity, admin, payer: context.payer, holder: context.holder };
        const holder = from.holder?.id ?? (admin ? 'admin' : '');
        const outcomes = await repetitions.once(request, holder, received, async () => {
          if (full) throw full;
          if (order !== null) taken = await fetchOrdered(order, { from, fromUrl, service, signal });
          const [only, ...others] = taken.files;
          const storage = { options, from, signal, stored, whole };
          const made =
            only && others.length === 0
              ? [{ uploaded: await storeOne(only, storage) }]
              : await storeAll(taken.files, storage);
          const joined = await joining.join(made, options.album);
          signal.throwIfAborted();
          return joined;
        });
        return { outcomes, fields };
      } catch (error) {
        // First, because only what is in the album counts.
        await joining.undo?.(stored.map(({ image }) => image.id)).catch(() => {});
        await Promise.all(stored.map(service.takeBack));
        if (!signal.aborted) throw error;
        throw new AppError('invalid_body', 'The connection was closed before the response.', {
          cause: error,
        });
      } finally {
        await Promise.all([received.dispose(), taken.dispose()]);
      }
    },
  };
}

/**
 * The only path for uploads, whatever a client calls its fields: all are admitted, read, converted and stored in the
 * same way.
 */
export type Intake = ReturnType<typeof createIntake>;

/**
 * Reports whether any of the pictures was not deleted. What has expired or was shown as often as its uploader wished counts
 * as there, and so does what was held for review.
 */
async function isLeft(outcomes: readonly Outcome[], { find }: Pick<ImageService, 'find'>): Promise<boolean> {
  const stored = outcomes.flatMap((outcome) => ('uploaded' in outcome ? [outcome.uploaded] : []));
  const left = stored.map(
    ({ image, inReview }) => inReview || find(image.id).then(Boolean, ({ code }) => code !== 'not_found'),
  );
  return (await Promise.all(left)).includes(true);
}

function onlyOnce(judge: Taking['judge']): Taking['judge'] {
  let judged: Promise<void> | undefined;
  return judge && ((fields) => (judged ??= judge(fields)));
}

interface UploadsOptions {
  intake: Intake;
  pages: Pick<Pages, 'uploaded'>;
  /** Path under which browsers reach the image host. */
  basePath: string;
  /** How pictures of guests join, and the path of the page that they come from. */
  guest?: { joining: Joining; back: string };
}

/** Creates the handler of `POST /api/upload`, of the page of an invitation, and of forms that differ from it only in how they are taken. */
export function createUploads({ intake, pages, basePath, guest }: UploadsOptions) {
  function answered(call: Call, outcomes: readonly Outcome[]): Response {
    // The form of a page, sent by a browser without scripts.
    if (acceptsHtml(call.request)) return pages.uploaded(call, outcomes, guest?.back);
    const base = call.context.origin + basePath;
    const [only, ...others] = outcomes;
    const uploaded = only && 'uploaded' in only && others.length === 0 ? only.uploaded : null;
    if (uploaded === null) return unkept(uploadsView(base, outcomes), 201);
    const { url } = linksOf(base, uploaded.image);
    return unkept(uploadView(base, uploaded), uploaded.inReview ? 202 : 201, { location: url });
  }

  return async function upload(call: Call, taking?: Taking): Promise<Response> {
    const own = guest && { shape: OWN_SHAPE, guest: guest.joining };
    return answered(call, (await intake.take(call, taking ?? own)).outcomes);
  };
}
