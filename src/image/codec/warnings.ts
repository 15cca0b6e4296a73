/** What a conversion may have lost that nobody asked it to leave out. */
export const WARNING_CODES = ['frames_dropped', 'gain_map_dropped', 'truncated', 'metadata_dropped'] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

/** A loss in words, and by its code for programs. */
export interface Warning {
  code: WarningCode;
  message: string;
}

/** What went otherwise than the uploader asked: a loss, or that the picture is not in its album. */
export const UPLOAD_WARNING_CODES = [...WARNING_CODES, 'not_in_album'] as const;

export interface UploadWarning {
  code: (typeof UPLOAD_WARNING_CODES)[number];
  message: string;
}
