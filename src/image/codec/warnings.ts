/** What a conversion may lose without being asked to. */
export const WARNING_CODES = ['frames_dropped', 'gain_map_dropped', 'truncated', 'metadata_dropped'] as const;
type WarningCode = (typeof WARNING_CODES)[number];

/** A loss as a sentence, with a code for programs. */
export interface Warning {
  code: WarningCode;
  message: string;
}

/** Differences from what the uploader asked for: losses, or a picture that could not be added to its album. */
export const UPLOAD_WARNING_CODES = [...WARNING_CODES, 'not_in_album'] as const;

export interface UploadWarning {
  code: (typeof UPLOAD_WARNING_CODES)[number];
  message: string;
}
