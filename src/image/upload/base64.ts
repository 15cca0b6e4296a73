import { type AppError, inEnglish, invalidParameter } from '../../errors.ts';

/** Maximum factor by which Base64, with line ends and percent-encoding, enlarges a picture. */
export const MOST_BASE64 = 1.5;

/** Number of bytes that distinguish text from a picture: longer than the head of any `data:` URL. */
const SNIFFED_BYTES = 256;
const DATA_URL = /^data:[\w/+.-]*(?:;[\w=.+-]+)*,/i;

/**
 * Passes a picture on: decoded if it is Base64 or a `data:` URL, otherwise unchanged, and so is another URL. Picture
 * files never begin with bytes that could be Base64.
 * @throws {AppError} `invalid_parameter` with `field`, for broken Base64.
 */
export async function* decodeBase64(
  pieces: AsyncIterable<Uint8Array>,
  field: string,
): AsyncGenerator<Uint8Array> {
  let decoder: Decoder | null | undefined;
  for await (const piece of withLongHead(pieces, SNIFFED_BYTES)) {
    let bytes = piece;
    if (decoder === undefined) {
      const start = startOfText(piece, field);
      decoder = start === null ? null : createDecoder(field);
      bytes = piece.subarray(start ?? 0);
    }
    yield decoder ? decoder.decode(bytes) : bytes;
  }
  if (decoder) yield decoder.end();
}

/** Returns where the Base64 begins, or `null` if it is not Base64. */
function startOfText(head: Uint8Array, field: string): number | null {
  const text = latin1(head.subarray(0, SNIFFED_BYTES));
  const url = DATA_URL.exec(text)?.[0];
  if (url !== undefined) {
    if (/;base64,$/i.test(url)) return url.length;
    throw invalidParameter(
      field,
      inEnglish('A data: URL must be in Base64, as in data:image/png;base64,...'),
    );
  }
  return text !== '' && /^[\w+/=\s-]*$/.test(text) ? 0 : null;
}

/** Accepts `-` and `_` for `+` and `/`, as in URLs. Padding may be missing. */
function createDecoder(field: string) {
  let rest = '';
  let padded = false;
  return {
    decode(bytes: Uint8Array): Uint8Array {
      const text = latin1(bytes).replace(/\s+/g, '');
      const isWhole = /^[\w+/-]*={0,2}$/.test(text) && !(padded && /[^=]/.test(text));
      if (!isWhole) throw broken(field);
      padded ||= text.endsWith('=');
      const all = rest + text;
      const length = all.length - (all.length % 4);
      rest = all.slice(length);
      return Buffer.from(all.slice(0, length), 'base64');
    },
    /** Returns the remaining bytes. */
    end: () => Buffer.from(rest, 'base64'),
  };
}

type Decoder = ReturnType<typeof createDecoder>;

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function broken(field: string): AppError {
  return invalidParameter(field, inEnglish(`The Base64 in the field ${field} is invalid.`));
}

/**
 * Yields the same bytes, with a first chunk of at least that many so that it can be examined. It is shorter only if
 * there are fewer bytes, and missing if there are none.
 */
export async function* withLongHead(
  pieces: AsyncIterable<Uint8Array>,
  headBytes: number,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | null = new Uint8Array();
  for await (const piece of pieces) {
    if (head === null) yield piece;
    else {
      head = Buffer.concat([head, piece]);
      if (head.length < headBytes) continue;
      yield head;
      head = null;
    }
  }
  if (head !== null && head.length > 0) yield head;
}
