import type { PrivatePart } from '../codec/private-parts.ts';
import type { UploadWarning } from '../codec/warnings.ts';
import type { ImageRecord } from '../image.ts';

/** The result of an upload, for its uploader only. */
export interface Uploaded {
  image: ImageRecord;
  /** Known only to the uploader: the server stores its hash. */
  deleteToken: string;
  /** Private metadata that was removed. */
  removed: readonly PrivatePart[];
  /** What the conversion has lost, or what differs from the request. */
  warnings: readonly UploadWarning[];
  /** The album that it is in. */
  album?: string;
  /** True if nobody sees it before the administrator does. */
  inReview?: boolean;
}
