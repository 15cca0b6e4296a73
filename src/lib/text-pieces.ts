/**
 * Creates a decoder of text that comes in pieces: UTF-8, or UTF-16 if its mark stands first, as programs of Windows
 * write it. Call it without a piece at the end.
 */
export function createTextDecoder(): (piece?: Uint8Array) => string {
  let decoder: TextDecoder | null = null;
  let begun = Buffer.alloc(0);
  return (piece) => {
    const stream = piece !== undefined;
    if (decoder !== null) return decoder.decode(piece, { stream });
    if (piece) begun = Buffer.concat([begun, piece]);
    if (stream && begun.length < 2) return '';
    decoder = new TextDecoder(ENCODINGS[begun.toString('hex', 0, 2)]);
    return decoder.decode(begun, { stream });
  };
}

const ENCODINGS: Record<string, 'utf-16le' | 'utf-16be'> = { fffe: 'utf-16le', feff: 'utf-16be' };
