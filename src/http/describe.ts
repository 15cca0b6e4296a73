import { type TSchema, Type } from '@sinclair/typebox';
import type { OpenAPIV3 } from 'openapi-types';

/** The body of every error answer. */
export const errorSchema: TSchema = Type.Object(
  {
    success: Type.Literal(false),
    error: Type.String({ description: 'What was wrong, in a sentence.' }),
    code: Type.String({ description: 'The same for programs.' }),
    request_id: Type.String({ description: 'Names this request in the log of the server.' }),
    details: Type.Optional(
      Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
        description: 'One entry for each faulty field.',
      }),
    ),
  },
  {
    $id: 'Error',
    examples: [
      {
        success: false,
        error: 'limit must be an integer of at least 1, but is "many".',
        code: 'invalid_parameter',
        request_id: '5f3a9c1b2d4e',
        details: [{ field: 'limit', message: 'must be an integer of at least 1, but is "many"' }],
      },
    ],
  },
);

const ERROR_MEANINGS: Record<number, string> = {
  400: 'A parameter or the body is not as it must be.',
  401: 'A password or token is needed, or the one given is wrong.',
  403: 'Not allowed to this caller.',
  404: 'There is no such thing.',
  409: 'In conflict with what is stored or running.',
  410: 'It was there, and has come to its end.',
  413: 'The body is larger than allowed.',
  415: 'Not an image of a format that is accepted.',
  416: 'The range lies outside the file.',
  422: 'The image cannot be decoded, or passes a limit.',
  429: 'Too many requests; `Retry-After` says when to come back.',
  500: 'A fault of the server; the request id finds it in the log.',
  503: 'A part that is needed is away or busy; `Retry-After` says when to come back.',
  507: 'The storage is full.',
};

export interface Answer {
  description: string;
  /** By media type; a JSON answer may be given as `schema` alone. */
  content?: Record<string, { schema: TSchema; example?: unknown }>;
  schema?: TSchema;
  example?: unknown;
  headers?: Record<string, { description: string; schema: TSchema }>;
}

export interface Description {
  /** The `operationId`: lower camel case, unique. */
  id: string;
  tag: string;
  summary: string;
  description?: string;
  /** The good answers by status; errors are listed by their status alone, unless they can be more than JSON. */
  answers: Record<number, Answer>;
  errors?: readonly number[];
  /** True where `ADMIN_TOKEN`, once set, is demanded. */
  admin?: boolean;
  /** Where the body is not described by Elysia's own `body` schema. */
  requestBody?: {
    description?: string;
    required?: boolean;
    content: Record<string, { schema: TSchema; example?: unknown }>;
  };
  /** Parameters that are not in Elysia's `query` and `params` schemas, such as headers. */
  parameters?: {
    name: string;
    in: 'header' | 'query' | 'cookie';
    description: string;
    required?: boolean;
    schema: TSchema;
  }[];
}

/**
 * Makes Elysia's `detail` of a route. Answers are described here and not in Elysia's `response`, which would
 * validate each answer at half the throughput; the tests validate them against this description instead.
 */
export function describe({ id, tag, answers, errors = [], admin, ...rest }: Description) {
  const responses: OpenAPIV3.ResponsesObject = {};
  for (const [status, { schema, example, content, ...answer }] of Object.entries(answers)) {
    responses[status] = {
      ...answer,
      ...(schema && {
        content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
      }),
      ...(content && { content }),
    };
  }
  for (const status of [...errors, 429, 500, 503]) {
    responses[status] = {
      description: ERROR_MEANINGS[status] ?? 'An error.',
      content: { 'application/json': { schema: errorSchema }, ...answers[status]?.content },
    };
  }
  responses[431] = { description: 'The URL and the headers are larger than the server reads; no body.' };
  return {
    operationId: id,
    tags: [tag],
    ...rest,
    responses,
    ...(admin && { security: [{}, { adminToken: [] as string[] }] }),
  };
}
