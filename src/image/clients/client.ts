import type { Dialect } from '../../http/dialect.ts';
import type { ImageRecord } from '../image.ts';
import type { Links } from '../links.ts';
import type { Taking } from '../upload/intake.ts';

/** Another service whose clients are understood: what they send becomes a call of the image host, and what it answers becomes theirs. */
export interface Client {
  /** As `IMAGE_CLIENTS` names it; the path below which it answers. */
  name: string;
  routes: readonly ClientRoute[];
}

export interface ClientRoute {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the path of the client; empty for that path itself. */
  path: string;
  /** Whether it is counted as an upload, or as something else that changes something. */
  limit: 'upload' | 'write';
  dialect: Dialect;
  /** `rest`: the last part of the path, where it is `:rest`. */
  answer(request: Request, host: Host, rest: string): Promise<Response>;
}

/** The image host, as clients of other services use it. */
export interface Host {
  /** Stores all pictures of a request or, where one cannot be stored, none. Rejects as `Intake.take` does. */
  store(request: Request, taking: Taking): Promise<{ shared: Shared[]; fields: Fields }>;
  /** Stores the one picture that the shape allows. */
  storeOne(request: Request, taking: Taking & OnePicture): Promise<Shared>;
  /**
   * Removes an image by its key, id, file name or link: with the token of the key, with the one that is given, or from where it was
   * uploaded. Rejects with `forbidden` or `not_found`.
   */
  remove(request: Request, named: string, token?: string | null): Promise<void>;
  /** True for HEAD, which routes see as GET. */
  onlyLooks(request: Request): boolean;
  /** Judges a token that stood in the body of a request; see `RequestContext`. */
  judgeToken(request: Request, token: string | null): Promise<void>;
}

export type Fields = Readonly<Record<string, string>>;

type OnePicture = { shape: { most: 1 } };

/** A stored image, as its uploader shares and removes it. */
export interface Shared {
  image: ImageRecord;
  links: Links;
  /** Id and delete token in one word, for clients that keep one word to delete by. */
  key: string;
  deleteToken: string;
  /** The page that asks for confirmation. */
  deleteUrl: string;
  thumbnailUrl: string;
}

/** An answer that says how it went as clients of today expect it, and is kept by nobody. */
export function json(body: object): Response {
  return Response.json(body, { headers: { 'cache-control': 'no-store' } });
}

/** Refusals for clients that show the body of an answer, whatever its status. */
export const plainRefusal: Dialect = {
  refusal: ({ status, error }) => ({ status, body: `${error}\n` }),
};

/** A line of text, for clients that show what they get; what deletes the image is in a header. */
export function text(line: string, headers: Record<string, string> = {}): Response {
  return new Response(`${line}\n`, {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers },
  });
}
