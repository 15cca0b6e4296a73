/**
 * Creates a decoder of text that comes in pieces: UTF-8, or UTF-16 as programs of Windows write it, with its mark or half
 * a character of ASCII first. Call it without a piece at the end.
 */
export function createTextDecoder(): (piece?: Uint8Array) => string {
  let decoder: TextDecoder | null = null;
  let begun = Buffer.alloc(0);
  return (piece) => {
    const stream = piece !== undefined;
    if (decoder !== null) return decoder.decode(piece, { stream });
    if (piece) begun = Buffer.concat([begun, piece]);
    if (stream && begun.length < 2) return '';
    const first = begun.toString('hex', 0, 2);
    decoder = new TextDecoder(ENCODINGS.find(([, form]) => form.test(first))?.[0]);
    return decoder.decode(begun, { stream });
  };
}

const ENCODINGS = [
  ['utf-16le', /^(fffe|[2-7].00)$/],
  ['utf-16be', /^(feff|00[2-7].)$/],
] as const;
