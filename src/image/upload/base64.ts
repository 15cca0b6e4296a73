import { type AppError, invalidParameter } from '../../errors.ts';

/** How much longer than its bytes a picture gets by Base64, line ends and percent-encoding, at most. */
export const MOST_BASE64 = 1.5;

/** What is looked at to tell text from a picture: longer than the head of any `data:` URL. */
const SNIFFED_BYTES = 256;
const DATA_URL = /^data:[\w/+.-]*(?:;[\w=.+-]+)*,/i;

/**
 * Passes a picture on: decoded where it comes as Base64 or as a `data:` URL, else, and where it is another URL, as it is. Files of
 * pictures do not begin with bytes that could be Base64.
 * @throws {AppError} `invalid_parameter` naming `field`, for Base64 that is broken.
 */
export async function* decodeBase64(
  pieces: AsyncIterable<Uint8Array>,
  field: string,
): AsyncGenerator<Uint8Array> {
  let decoder: Decoder | null | undefined;
  for await (const piece of withLongHead(pieces)) {
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

/** The same bytes; the first piece is at least as long as what is looked at, where there is so much. */
async function* withLongHead(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | null = new Uint8Array();
  for await (const piece of pieces) {
    if (head === null) yield piece;
    else {
      head = Buffer.concat([head, piece]);
      if (head.length < SNIFFED_BYTES) continue;
      yield head;
      head = null;
    }
  }
  if (head !== null) yield head;
}

/** Where the Base64 begins, or `null` if it is not one. */
function startOfText(head: Uint8Array, field: string): number | null {
  const text = latin1(head.subarray(0, SNIFFED_BYTES));
  const url = DATA_URL.exec(text)?.[0];
  if (url !== undefined) {
    if (/;base64,$/i.test(url)) return url.length;
    throw invalidParameter(field, 'A data: URL must be in Base64, as in data:image/png;base64,...');
  }
  return text !== '' && /^[\w+/=\s-]*$/.test(text) ? 0 : null;
}

interface Decoder {
  decode(bytes: Uint8Array): Uint8Array;
  /** What is left at the end. */
  end(): Uint8Array;
}

/** Takes `-` and `_` for `+` and `/`, as addresses have them; padding may be missing. */
function createDecoder(field: string): Decoder {
  let rest = '';
  let padded = false;
  return {
    decode(bytes) {
      const text = latin1(bytes).replace(/\s+/g, '');
      const isWhole = /^[\w+/-]*={0,2}$/.test(text) && !(padded && /[^=]/.test(text));
      if (!isWhole) throw broken(field);
      padded ||= text.endsWith('=');
      const all = rest + text;
      const length = all.length - (all.length % 4);
      rest = all.slice(length);
      return Buffer.from(all.slice(0, length), 'base64');
    },
    end: () => Buffer.from(rest, 'base64'),
  };
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function broken(field: string): AppError {
  return invalidParameter(field, `The Base64 in the field ${field} is invalid.`);
}
