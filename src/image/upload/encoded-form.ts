import { invalidParameter, message } from '../../errors.ts';
import { type Form, MAX_FIELD_BYTES, MAX_FIELDS, tooLong, tooManyFields } from './multipart.ts';

/**
 * Reads a form of the type `application/x-www-form-urlencoded`. `store` consumes the picture, as text, while it
 * arrives. `names`: of the field that has the picture; `null` for a form without one.
 * @throws {AppError} `invalid_body` for too many fields, `invalid_parameter` with the name of a field that is
 * missing, too long or repeated.
 */
export async function readEncodedForm<T>(
  body: AsyncIterable<Uint8Array>,
  names: readonly [string, ...string[]] | null,
  store: (picture: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<Form<T>> {
  const fields: Record<string, string> = Object.create(null);
  const reader = createReader(body);
  const files: Form<T>['files'] = [];
  try {
    for (let count = 0; !(await reader.atEnd()); count++) {
      if (count > MAX_FIELDS) throw tooManyFields();
      const name = await textOf(reader.until(/[=&]/), 'name');
      const value = reader.last === '=' ? reader.until(/&/) : nothing();
      if (!names?.includes(name)) fields[name] = await textOf(value, name);
      else {
        if (files.length > 0)
          throw invalidParameter(
            names[0],
            message('Send one picture in the field {field}.', { field: names[0] }),
          );
        // Base64 has no spaces: a plus that was not escaped stays one.
        files.push({ filename: null, stored: await store(bytesOf(value, '+')) });
      }
    }
  } finally {
    await reader.close();
  }
  if (names && files.length === 0) {
    throw invalidParameter(
      names[0],
      message('The form has no picture in the field {field}.', { field: names[0] }),
    );
  }
  return { fields, files };
}

/** Splits a body at characters without ever buffering more than a chunk. */
function createReader(body: AsyncIterable<Uint8Array>) {
  const pieces = body[Symbol.asyncIterator]();
  let text = '';
  let last = '';

  /** Reports whether there is text, reading more if necessary. */
  async function fill(): Promise<boolean> {
    while (text === '') {
      const { done, value } = await pieces.next();
      if (done) return false;
      text = Buffer.from(value).toString('latin1');
    }
    return true;
  }

  return {
    /** The character at which the text was last split; empty at the end. */
    get last() {
      return last;
    },
    atEnd: async () => !(await fill()),
    close: async () => void (await pieces.return?.()),
    /** Yields the text up to a character, which is skipped. */
    async *until(mark: RegExp): AsyncGenerator<string> {
      last = '';
      while (await fill()) {
        const end = text.search(mark);
        const found = end === -1 ? text : text.slice(0, end);
        last = end === -1 ? '' : text.charAt(end);
        text = end === -1 ? '' : text.slice(end + 1);
        yield found;
        if (last !== '') return;
      }
    },
  };
}

/** The value of a field without `=`. */
async function* nothing(): AsyncGenerator<string> {}

async function textOf(parts: AsyncIterable<string>, name: string): Promise<string> {
  let bytes = Buffer.alloc(0);
  for await (const part of bytesOf(parts)) {
    bytes = Buffer.concat([bytes, part]);
    if (bytes.length > MAX_FIELD_BYTES) throw tooLong(name);
  }
  return bytes.toString('utf8');
}

/** Decodes percent-encoding. `plus`: what a `+` stands for. */
async function* bytesOf(parts: AsyncIterable<string>, plus = ' '): AsyncGenerator<Buffer> {
  let rest = '';
  for await (const part of parts) {
    const text = rest + part;
    // The end of a chunk may split an escape.
    const cut = /%[0-9a-f]?$/i.exec(text)?.index ?? text.length;
    rest = text.slice(cut);
    yield unescapeBytes(text.slice(0, cut), plus);
  }
  if (rest !== '') yield unescapeBytes(rest, plus);
}

function unescapeBytes(text: string, plus: string): Buffer {
  const plain = text
    .replaceAll('+', plus)
    .replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(plain, 'latin1');
}
