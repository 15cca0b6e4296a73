import { KeptHeaders } from '../../http/kept-headers.ts';
import type { AnswerCache, Asked } from '../../http/policy.ts';
import { EXTENSIONS, type ImageRecord, NEVER } from '../image.ts';
import type { ImageService } from '../service.ts';
import { isNotModified, type Validators } from './conditional.ts';
import { headersOf, validatorsOf } from './serve.ts';

const ID_LENGTH = 12;

/** Parts of the answers about an image, built once because that costs more than everything else. */
interface Prepared {
  /** The last part of the direct link. */
  name: string;
  validators: Validators;
  whole: KeptHeaders;
  notModified: KeptHeaders;
}

/**
 * Answers the most common request, GET of a recently requested public image as it is stored, at a third of the cost
 * of router and store. All other requests are left to the route, whose answers are the same.
 */
export function createDirectLinkCache(
  service: Pick<ImageService, 'cached' | 'cachedFile' | 'accessed' | 'cacheSeconds'>,
  cors: boolean,
): AnswerCache {
  /** Kept as long as the record, which is read again after a short while. */
  const prepared = new WeakMap<ImageRecord, Prepared>();

  function prepare(image: ImageRecord): Prepared {
    const shape = { width: null, format: image.format };
    const cacheSeconds = service.cacheSeconds(image);
    const { notModified, file } = headersOf(image, {
      shape,
      vary: false,
      download: false,
      cors,
      cacheSeconds,
    });
    // The headers of every answer; see the application.
    const common = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
    const made = {
      name: `${image.id}.${EXTENSIONS[image.format]}`,
      validators: validatorsOf(image, shape),
      notModified: new KeptHeaders(new Headers({ ...notModified, ...common })),
      whole: new KeptHeaders(
        new Headers({ ...notModified, ...file, ...common, 'content-length': String(image.size) }),
      ),
    };
    prepared.set(image, made);
    return made;
  }

  function kept(asked: Asked): Response | null {
    const { request, url } = asked;
    const nameAt = url.lastIndexOf('/') + 1;
    const image = service.cached(url.slice(nameAt, nameAt + ID_LENGTH));
    if (!image || image.passwordHash !== null || isEnding(image)) return null;
    const { name, validators, whole, notModified } = prepared.get(image) ?? prepare(image);
    if (url.length !== nameAt + name.length || !url.endsWith(name)) return null;
    if (isNotModified(request.headers, validators)) {
      service.accessed(image);
      return new Response(null, { status: 304, headers: asked.stamp(notModified) });
    }
    const file = request.headers.has('range') ? undefined : service.cachedFile(image);
    if (!file) return null;
    service.accessed(image);
    return new Response(file, { headers: asked.stamp(whole) });
  }

  /** The headers of an image that expires change over time. */
  const isEnding = ({ expiresAt }: ImageRecord) => expiresAt !== null && expiresAt !== NEVER;

  return { answer: (asked, make) => kept(asked) ?? make(asked) };
}
