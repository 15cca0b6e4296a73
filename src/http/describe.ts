import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { listOf, text } from '../lib/schema.ts';

/** The body of every error answer. */
const errorSchema: TSchema = Type.Object(
  {
    success: Type.Literal(false),
    error: text('The problem, as a sentence.'),
    code: text('The problem, as a code for programs.'),
    request_id: text('ID of this request in the log.'),
    details: Type.Optional(
      listOf(Type.Object({ field: Type.String(), message: Type.String() }), 'One entry per invalid field.'),
    ),
  },
  {
    $id: 'Error',
    examples: [
      {
        success: false,
        error: 'limit must be an integer of at least 1, not "many".',
        code: 'invalid_parameter',
        request_id: '5f3a9c1b2d4e',
        details: [{ field: 'limit', message: 'must be an integer of at least 1, not "many"' }],
      },
    ],
  },
);

const ERROR_MEANINGS: Record<number, string> = {
  400: 'A parameter or the body is invalid.',
  401: 'The password or token is missing or wrong.',
  403: 'You are not allowed to do this.',
  404: 'Not found.',
  409: 'Conflicts with what is stored or running.',
  410: 'The image has expired or has no views left.',
  413: 'The body is too large.',
  415: 'The file is not an image in an accepted format.',
  416: 'The range is outside the file.',
  422: 'The image cannot be decoded or exceeds a limit.',
  429: 'Too many requests. `Retry-After` says how long to wait.',
  500: 'The server failed. The log has the details under the request ID.',
  503: 'The server is busy or a part of it is unavailable. `Retry-After` says how long to wait.',
  507: 'The storage is full.',
};

export interface Answer {
  description: string;
  /** By media type. For JSON, `schema` is enough. */
  content?: Record<string, { schema: TSchema; example?: unknown }>;
  schema?: TSchema;
  example?: unknown;
  headers?: Record<string, { description: string; schema: TSchema }>;
}

/** What the API description says about a route. Its input and who may use it follow from the declaration. */
export interface Description {
  /** The `operationId`: lower camel case, unique. */
  id: string;
  /** Default: the service that has the route, or `Server`. */
  tag?: string;
  summary: string;
  description?: string;
  /** Successful answers by status. Errors are listed by status only, unless they can be more than JSON. */
  answers: Record<number, Answer>;
  /** Those that no rule of the route implies. */
  errors?: readonly number[];
  /** Used if the reader of the body has no schema. */
  requestBody?: {
    description?: string;
    required?: boolean;
    content: Record<string, { schema: TSchema; example?: unknown }>;
  };
  /** Parameters that are not in the schemas of query and path, such as headers. */
  parameters?: { name: string; in: 'header' | 'query'; description: string; schema: TSchema }[];
}

/** Such parameters. */
export const header = (name: string, description: string) =>
  ({ name, in: 'header', description, schema: Type.String() }) as const;
export const query = (name: string, description: string, schema: TSchema = Type.String()) =>
  ({ name, in: 'query', description, schema }) as const;

/** Describes an answer that has these fields beside `success`, with an example of them. */
export function successOf(description: string, fields: TProperties, example?: object): Answer {
  const schema = Type.Object({ success: Type.Literal(true), ...fields });
  return { description, schema, ...(example && { example: { success: true, ...example } }) };
}

/** Returns the headers of an answer that names a place. */
export const location = (description: string) => ({ Location: { description, schema: Type.String() } });

/** Of which tokens a route needs one: names of settings, or `ISSUED_TOKEN`. */
export interface NeededTokens {
  names: readonly string[];
  /** True if requests without a token are answered too, although perhaps differently. */
  optional: boolean;
}

/** Stands for a token that the operator has issued, rather than for a setting. */
export const ISSUED_TOKEN = 'token';

/** Returns the name of a token's security scheme: `adminToken` for `ADMIN_TOKEN`. */
export function schemeOf(name: string): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Returns the operation of OpenAPI for a description. Answers are described here rather than in Elysia's `response`,
 * which would validate each answer at half the throughput. The tests validate answers against this description instead.
 */
export function operationOf(
  { id, tag = 'Server', answers, errors = [], ...rest }: Description,
  { names, optional }: NeededTokens,
) {
  const responses: Record<string, object> = {};
  for (const [status, { schema, example, content, ...answer }] of Object.entries(answers)) {
    responses[status] = {
      ...answer,
      ...(schema && {
        content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
      }),
      ...(content && { content }),
    };
  }
  for (const status of [...errors, ...(names.length > 0 ? [401] : []), 429, 500, 503]) {
    responses[status] = {
      description: ERROR_MEANINGS[status] ?? 'An error.',
      content: { 'application/json': { schema: errorSchema }, ...answers[status]?.content },
    };
  }
  responses[431] = { description: 'The URL and headers are too large. The response has no body.' };
  return {
    operationId: id,
    tags: [tag],
    ...rest,
    responses,
    ...(names.length > 0 && {
      security: [...(optional ? [{}] : []), ...names.map((name) => ({ [schemeOf(name)]: [] }))],
    }),
  };
}
