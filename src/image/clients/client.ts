import type { Dialect } from '../../http/dialect.ts';
import type { Caller } from '../../http/route.ts';
import type { ImageRecord } from '../image.ts';
import type { Links } from '../records/links.ts';
import type { Taking } from '../upload/intake.ts';

/**
 * Another service whose clients are supported: their requests become calls of the image host, and its answers are
 * translated back.
 */
export interface Client {
  /** The name in `IMAGE_CLIENTS`, and the path below which it answers. */
  name: string;
  /** Whether it answers at the root as well, for clients in which only the host name can be changed. */
  alsoAtRoot?: boolean;
  routes: readonly ClientRoute[];
}

export interface ClientRoute {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the path of the client; empty for that path itself. */
  path: string;
  /** Whether a request counts as an upload or as another write. */
  limit: 'upload' | 'write';
  dialect: Dialect;
  /** `rest`: the part of the path that matches `:rest`. */
  answer(call: Caller, host: Host, rest: string): Promise<Response>;
}

type Answer = ClientRoute['answer'];

/** Returns the route of an upload. */
export function uploading(path: string, dialect: Dialect, answer: Answer): ClientRoute {
  return { method: 'POST', path, limit: 'upload', dialect, answer };
}

/** Returns the route of a deletion, as a method and a path. */
export function deleting(
  where: `${ClientRoute['method']} /${string}`,
  dialect: Dialect,
  answer: Answer,
): ClientRoute {
  const [method, path] = where.split(' ') as [ClientRoute['method'], string];
  return { method, path, limit: 'write', dialect, answer };
}

/** The image host as clients of other services use it. */
export interface Host {
  /** Stores all pictures of a request, or none if one of them cannot be stored. Rejects like `Intake.take`. */
  store(call: Caller, taking: Taking): Promise<{ shared: Shared[]; fields: Fields }>;
  /** Stores the only picture that the shape allows, and returns it with the fields of the request. */
  storeOne(call: Caller, taking: Taking & OnePicture): Promise<Shared & { fields: Fields }>;
  /**
   * Removes an image by its key, ID, file name or link: with the token in the key, the given token, or the uploader's
   * address. Rejects with `forbidden` or `not_found`.
   */
  remove(call: Caller, named: string, token?: string | null): Promise<void>;
  /**
   * Removes several, and goes on after one that fails, so that a repeated request ends what an earlier one began. Returns
   * how many were not found. Rejects with the first other error.
   */
  removeEach(call: Caller, names: readonly string[], token?: string | null): Promise<number>;
}

export type Fields = Readonly<Record<string, string>>;

type OnePicture = { shape: { most: 1 } };

/** A stored image with what its uploader needs to share and delete it. */
export interface Shared {
  image: ImageRecord;
  links: Links;
  /** ID and delete token in one word, for clients that store a single word for deletion. */
  key: string;
  deleteToken: string;
  /** The page that asks for confirmation. */
  deleteUrl: string;
  thumbnailUrl: string;
}

/** Errors for clients that show the body of an answer, whatever its status. */
export const plainRefusal: Dialect = {
  refusal: ({ status, error }) => ({ status, body: `${error}\n` }),
};

/** Returns a line of text, for clients that show the answer as it is. The link for deletion is in a header. */
export function text(line: string, headers: Record<string, string> = {}): Response {
  return new Response(`${line}\n`, {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers },
  });
}
