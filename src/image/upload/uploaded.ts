import type { PrivatePart } from '../codec/private-parts.ts';
import type { UploadWarning } from '../codec/warnings.ts';
import type { ImageRecord } from '../image.ts';

/** The result of an upload, for its uploader only. */
export interface Uploaded {
  image: ImageRecord;
  /** Known to nobody else: only its hash is stored. */
  deleteToken: string;
  /** Private metadata that is not stored. */
  removed: readonly PrivatePart[];
  /** What the conversion has lost, or went otherwise than asked. */
  warnings: readonly UploadWarning[];
  /** The album that it is in. */
  album?: string;
  /** True: nobody sees it until the administrator has. */
  inReview?: boolean;
}
