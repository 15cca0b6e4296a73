import { between, chance, happens, oneOf, whole } from './chance.ts';

/** Node's own parser, llhttp: it knows nothing of ours. */
interface Parser {
  initialize(kind: number, owner: object): void;
  execute(bytes: Buffer): number | Error;
  finish(): undefined | Error;
  [callback: number]: unknown;
}
const { HTTPParser } = (process as unknown as { binding(name: string): { HTTPParser: never } }).binding(
  'http_parser',
);
const Kinds = HTTPParser as unknown as (new () => Parser) & Record<string, number>;

/** A message as that parser reads it. */
export interface Message {
  /** Of a request: method and target. Of a response: the status. */
  start: string;
  body: string;
  isWhole: boolean;
  /** Whether others may follow on its connection. */
  keepsAlive: boolean;
}

const METHODS = ['DELETE', 'GET', 'HEAD', 'POST', 'PUT'];

/**
 * Creates a reader of requests, or of the responses to requests of these methods. `onWhole` hears of each message that is
 * complete, `onHead` of each that has begun. `read` says whether the bytes are still HTTP; what follows bytes that are not is not read.
 */
export function createReader(
  kind: 'request' | 'response',
  methods: readonly string[],
  onWhole: (message: Message) => void,
  onHead: (message: Message) => void = () => {},
) {
  const parser = new Kinds();
  const messages: Message[] = [];
  let isBroken = false;
  parser.initialize(kind === 'request' ? (Kinds.REQUEST as number) : (Kinds.RESPONSE as number), {});
  let final = 0;
  parser[Kinds.kOnHeadersComplete as number] = (...args: unknown[]) => {
    const [, , , method, target, status] = args as [0, 0, 0, number, string, number];
    const start = kind === 'request' ? `${METHODS[method] ?? method} ${target}` : String(status);
    const message = { start, body: '', isWhole: false, keepsAlive: args.at(-1) === true };
    messages.push(message);
    onHead(message);
    if (kind === 'request') return 0;
    if (status < 200 && status !== 101) return 0;
    // A response to HEAD has no body, whatever its head says.
    return methods[final++] === 'HEAD' ? 1 : 0;
  };
  parser[Kinds.kOnBody as number] = (bytes: Buffer) => {
    const last = messages.at(-1);
    if (last) last.body += bytes.toString('latin1');
  };
  parser[Kinds.kOnMessageComplete as number] = () => {
    const last = messages.at(-1);
    if (!last) return;
    last.isWhole = true;
    onWhole(last);
  };
  return {
    messages,
    isBroken: () => isBroken,
    read(bytes: Uint8Array): boolean {
      if (isBroken) return true;
      const result = parser.execute(Buffer.from(bytes));
      isBroken = result instanceof Error;
      // It reads only methods that it knows, and no padded sizes of chunks, which servers send and browsers read.
      const code = isBroken ? (result as Error & { code?: string }).code : '';
      const isPadded = kind === 'response' && code === 'HPE_INVALID_CHUNK_SIZE';
      return !isBroken || isPadded || code === 'HPE_INVALID_METHOD';
    },
    /** Call it when the other side has ended well. */
    end(): void {
      if (!isBroken) isBroken = parser.finish() instanceof Error;
    },
  };
}

const CRLF = '\r\n';
const FIELDS = ['Accept: */*', 'X-A: 1', 'Cookie: a=b; c=d', 'Accept-Encoding: gzip', 'X-Empty:'];

const letters = (length: number) =>
  Array.from({ length }, () => oneOf(['a', 'b', 'c', '\n', '\r', '0'])).join('');

/** The target of a request that is only the body of another. */
export const SMUGGLED = 'smuggled';
const BODY = `OPTIONS http://site0.example/${SMUGGLED} HTTP/1.1${CRLF}Host: site0.example${CRLF}${CRLF}`;

/** Writes a body with its header. */
function framed(body: string): { fields: string[]; bytes: string } {
  if (happens(0.5)) return { fields: [`Content-Length: ${body.length}`], bytes: body };
  let bytes = '';
  for (let from = 0; from < body.length; ) {
    const size = whole(1, 30);
    const piece = body.slice(from, from + size);
    bytes += `${piece.length.toString(16)}${happens(0.1) ? ';x=1' : ''}${CRLF}${piece}${CRLF}`;
    from += size;
  }
  return {
    fields: ['Transfer-Encoding: chunked'],
    bytes: `${bytes}0${CRLF}${happens(0.1) ? `X-T: 1${CRLF}` : ''}${CRLF}`,
  };
}

/** A request that is as it should be, with a target that no other has. */
export function request(name: string): { method: string; text: string } {
  const method = oneOf(['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE']);
  const host = `site${whole(0, 3)}.example`;
  const { fields, bytes } =
    method === 'POST' || method === 'PUT'
      ? framed(happens(0.2) ? BODY : letters(whole(0, 80)))
      : { fields: [], bytes: '' };
  const lines = [
    `${method} http://${host}/${name} HTTP/1.1`,
    `Host: ${host}`,
    ...(happens(0.4) ? [oneOf(FIELDS)] : []),
    ...fields,
  ];
  return { method, text: `${lines.join(CRLF)}${CRLF}${CRLF}${bytes}` };
}

/** A response: its text, its body, and whether only the end of the connection ends it, which it may unless others are to follow. */
export function response(
  method: string,
  mayEnd: boolean,
): { text: string; body: string; untilClose: boolean } {
  const body = method === 'HEAD' ? '' : letters(whole(0, happens(0.05) ? 3000 : 120));
  const interim = happens(0.1) ? `HTTP/1.1 103 Early Hints${CRLF}Link: x${CRLF}${CRLF}` : '';
  const head = (fields: string[]) =>
    `${interim}HTTP/1.1 200 OK${CRLF}${['Server: x', ...fields].join(CRLF)}${CRLF}${CRLF}`;
  if (mayEnd && method !== 'HEAD' && happens(0.2))
    return { text: head(['Connection: close']) + body, body, untilClose: true };
  const { fields, bytes } = framed(body);
  return { text: head(fields) + (method === 'HEAD' ? '' : bytes), body, untilClose: false };
}

const SPICES = [
  ...[CRLF, '\n', '\r', ' ', '\t', '\0', ':', ',', '0', '-1', 'ffffffffff', '\u00e9', CRLF + CRLF],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: identity\r\n',
    'Content-Length: 5\r\n',
    'Content-Length: 0, 0\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: x-a\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: websocket\r\n',
    'HTTP/1.0',
    'x'.repeat(300),
  ],
];

/** The text with something in it that should not be there, or without something that should. */
export function mutated(text: string): string {
  let result = text;
  for (let count = whole(1, 3); count > 0; count--) {
    const at = Math.floor((happens(0.7) ? chance() ** 2 : chance()) * result.length);
    const way = chance();
    if (way < 0.3) result = result.slice(0, at) + oneOf(SPICES) + result.slice(at);
    else if (way < 0.55) result = result.slice(0, at) + result.slice(at + whole(1, 8));
    else if (way < 0.8)
      result = result.slice(0, at) + String.fromCharCode(whole(0, 255)) + result.slice(at + 1);
    else {
      const from = Math.floor(between(0, result.length));
      result = result.slice(0, at) + result.slice(from, from + whole(1, 60)) + result.slice(at);
    }
  }
  return result;
}
