import type { Static, TObject, TSchema } from '@sinclair/typebox';
import { AppError, inEnglish } from '../errors.ts';
import { isRecord } from '../lib/foreign-json.ts';
import type { RateName } from '../lib/rates.ts';
import type { RequestContext } from './context.ts';
import type { Description } from './describe.ts';
import type { Dialect } from './dialect.ts';
import { readForm, readJson } from './read-body.ts';
import type { AnswerCache } from './response-cache.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A request to a route, with what its declaration asked for. */
interface Received<Query, Params, Body> {
  readonly request: Request;
  readonly context: RequestContext;
  readonly query: Query;
  readonly params: Params;
  readonly body: Body;
  /** Headers for the answer or, if the handler throws, for the error. Those of the answer itself go before them. */
  readonly headers: Record<string, string | number>;
}

/** What a handler gets. `Input`: schemas or types of `query`, `params` and `body`, as far as it uses them. */
export type Call<Input extends object = object> = Received<
  Part<Input, 'query'>,
  Part<Input, 'params'>,
  Part<Input, 'body'>
>;

type Part<Input, Name extends string> = Input extends { [name in Name]: infer Value }
  ? Checked<Value>
  : unknown;

type Checked<Value> = Value extends TSchema ? Static<Value> : Value;

/** A call as functions see it that are used by several routes. */
export type Caller = Pick<Call, 'request' | 'context'>;

/** What is declared with a route. The defaults are safe. */
interface Declaration<Query, Params, Body> {
  /** The limit that counts its requests. Default: `read` or `write`, by its method. */
  readonly limit?: RateName;
  /** The limit that counts the bytes of their bodies. */
  readonly bytes?: RateName;
  readonly cached?: AnswerCache;
  /**
   * When `ADMIN_TOKEN` is required: always, even if it is not set, or only once it is set; with `or moderator` always,
   * but a moderator's token is enough. Default: never.
   */
  readonly admin?: 'always' | 'once set' | 'or moderator';
  /** Tokens by the setting that contains them: a request must bring one, if any of them is set. */
  readonly tokens?: Readonly<Record<string, string | undefined>>;
  /** True if another token takes the place of one for uploads: an invitation, or that of what is changed. The handler checks it. */
  readonly ownToken?: true;
  /** `false`: a GET begins at once, however many wait. */
  readonly queued?: false;
  /** `true`: clients whose network is blocked may call it too. */
  readonly evenBlocked?: true;
  /** Returns how to answer a request from a client of another service; `null` for any other. */
  readonly dialect?: (request: Request) => Dialect | null;
  /** Unknown names are ignored, except misspelt and shortened ones, unless the schema forbids them. Texts become numbers, booleans and choices. */
  readonly query?: Query;
  /** Default: all variable parts of the path, as text. */
  readonly params?: Params;
  /** Default: the handler reads the body from the request, if at all. */
  readonly body?: BodyReader<Body>;
  /** Default: not part of the API description, as for pages. */
  readonly about?: Description;
}

/** How a body is read before the handler runs. Rejects with `invalid_body` or `too_large`. */
interface BodyReader<Body> {
  read(request: Request): Promise<Body>;
  /** Checked, and described, after reading. */
  readonly schema?: TSchema;
}

/** A declared route. Its handler gets what the schemas let through, whose types are only known where it is declared. */
export interface Route extends Declaration<TObject, TObject, unknown> {
  readonly method: Method;
  /** Such as `/api/proxy/:id`. */
  readonly path: string;
  handle(call: Call<{ query: never; params: never; body: never }>): Response | Promise<Response>;
}

/** Declares a route: `at` is its method and path, such as `GET /api/proxy/:id`. */
export function route<
  const At extends `${Method} /${string}`,
  Query extends TObject | undefined = undefined,
  Params extends TObject | ParamsOf<At> = ParamsOf<At>,
  Body = undefined,
>(
  at: At,
  handle: (call: Call<{ query: Query; params: Params; body: Body }>) => Response | Promise<Response>,
  declared: Declaration<Query, Params, Body> = {},
): Route {
  const [method, path] = at.split(' ') as [Method, string];
  return { ...(declared as Declaration<TObject, TObject, Body>), method, path, handle };
}

/** The variable parts of a path. */
type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Record<Name, string> & ParamsOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Record<Name, string>
    : object;

/** Returns the routes as they are found below a base path, such as `/proxy`. */
export function below(basePath: string, routes: readonly Route[]): Route[] {
  return routes.map((one) => ({ ...one, path: basePath + one.path }));
}

/** A JSON body of this schema. `tidy` changes what was read before it is checked. */
export function json<Schema extends TSchema>(
  schema: Schema,
  tidy?: (body: unknown) => void,
): BodyReader<Static<Schema>> {
  return {
    schema,
    async read(request) {
      const body = await readJson(request);
      // Before the defaults of the schema make an object of it.
      if (schema.type === 'object' && !isRecord(body))
        throw new AppError('invalid_body', inEnglish('The body must be a JSON object.'));
      tidy?.(body);
      return body as Static<Schema>;
    },
  };
}

export const form: BodyReader<URLSearchParams> = { read: readForm };
