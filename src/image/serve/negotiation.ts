import { acceptedIn } from '../../lib/accepted.ts';
import { otherFormats, READ_EVERYWHERE } from '../blob-keys.ts';
import { type Format, type ImageRecord, MEDIA_TYPES } from '../image.ts';
import type { ImageService } from '../service.ts';

/**
 * Returns the format in which a client gets an image: AVIF or WebP, whichever `Accept` names first and has fewer
 * bytes than the stored image; otherwise the stored format, or JPEG if the client does not accept that. Animations
 * keep their format or become WebP. A version that does not exist yet is created.
 */
export async function negotiated(
  service: Pick<ImageService, 'version'>,
  image: ImageRecord,
  accept: string | null,
  payer: string,
): Promise<Format> {
  const named = acceptedIn(accept);
  const reads = (format: Format) => READ_EVERYWHERE.includes(format) || named.has(MEDIA_TYPES[format]);
  const isReadable = reads(image.format);
  if (image.frames > 1) return isReadable || !reads('webp') ? image.format : 'webp';
  // AVIF is better than WebP, so converting from AVIF would only lose quality.
  if (isReadable && image.format === 'avif') return image.format;
  for (const format of otherFormats(image)) {
    if (!reads(format) || (format === 'jpeg' && isReadable)) continue;
    const version = await service.version(image, { width: null, format }, payer);
    if (version.format === format || isReadable) return version.format;
  }
  return image.format;
}
