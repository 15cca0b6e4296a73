import type { TSchema } from '@sinclair/typebox';
import { ValueErrorType } from '@sinclair/typebox/errors';
import {
  AppError,
  cutSent,
  type ErrorCode,
  type ErrorDetail,
  inEnglish,
  message,
  type Said,
} from '../errors.ts';
import { EXPECTS } from '../lib/schema.ts';

/** The status of each code. Codes become HTTP only here. */
const STATUS = {
  invalid_parameter: 400,
  invalid_body: 400,
  unauthorized: 401,
  password_required: 401,
  wrong_password: 401,
  forbidden: 403,
  not_found: 404,
  gone: 410,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  not_an_image: 415,
  range_not_satisfiable: 416,
  undecodable_image: 422,
  image_limit: 422,
  conversion_timeout: 422,
  rate_limited: 429,
  busy: 429,
  internal: 500,
  unavailable: 503,
  storage_full: 507,
} satisfies Record<ErrorCode, number>;

/** Used if a 429 or 503 does not know how long it will last. */
const DEFAULT_RETRY_MS = 5000;

/** The part of Elysia's errors that is used here. */
interface ElysiaError {
  code: string;
  /** What a parser threw. */
  cause?: unknown;
  type?: string;
  all?: SchemaFault[];
}

/** Converts anything that was thrown to an `AppError`; unknown errors become `internal`. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code, type, all = [], cause } = error as ElysiaError;
  if (cause instanceof AppError) return cause;
  if (code === 'NOT_FOUND') return new AppError('not_found', 'There is nothing at this path.');
  if (code === 'PARSE')
    return new AppError('invalid_body', 'The body cannot be read as JSON.', { cause: error });
  if (code === 'VALIDATION') {
    const explained = all.map((fault) => explainFault(fault));
    const fields = explained.map(({ field }) => field);
    const details = explained.filter(({ field }, index) => fields.indexOf(field) === index);
    const sentence = details.map(({ field, message }) => `${field} ${message}`).join('; ');
    return new AppError(
      type === 'body' ? 'invalid_body' : 'invalid_parameter',
      inEnglish(`${sentence || 'Invalid input'}.`),
      { details },
    );
  }
  return new AppError('internal', 'Something went wrong on the server.', { cause: error });
}

/** Returns the error envelope, which is the same on every path. */
export function errorResponse(error: AppError, requestId: string): Response {
  const status = STATUS[error.code];
  const headers = new Headers({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  if (status === 429 || status === 503) {
    const seconds = Math.ceil((error.retryAfterMs ?? DEFAULT_RETRY_MS) / 1000);
    headers.set('retry-after', String(Math.max(1, seconds)));
  }
  const body = {
    success: false,
    error: error.message,
    code: error.code,
    request_id: requestId,
    ...(error.details && { details: error.details }),
  };
  return new Response(JSON.stringify(body), { status, headers });
}

interface SchemaFault {
  type: ValueErrorType;
  path: string;
  schema: TSchema;
  value: unknown;
}

/** Explains what a schema expected and what it got instead. */
function explainFault({ type, path, schema, value }: SchemaFault): ErrorDetail {
  const field = cutSent(path.slice(1).replaceAll('/', '.')) || 'body';
  const names = Object.keys(schema.properties ?? {}).join(', ');
  if (type === ValueErrorType.ObjectAdditionalProperties)
    return { field, message: inEnglish(`is not among ${names}`) };
  if (type === ValueErrorType.ObjectMinProperties)
    return { field, message: inEnglish(`must have at least one of ${names}`) };
  const rule = ruleOf(schema);
  if (value === undefined) return { field, message: message('is required and {rule}', { rule }) };
  const sent = cutSent(JSON.stringify(value) ?? String(value));
  return { field, message: message('{rule}, not {value}', { rule, value: sent }) };
}

/** Says what a value must be. */
export function ruleOf(schema: TSchema): Said {
  const { type, minimum: least, maximum: most, minLength, maxLength, pattern, [EXPECTS]: expects } = schema;
  if (typeof expects === 'function') return expects();
  if (typeof expects === 'string') return inEnglish(`must be ${expects}`);
  if (Array.isArray(schema.enum))
    return message('must be one of {choices}', { choices: schema.enum.join(', ') });
  if (type === 'boolean') return 'must be true or false';
  if (type === 'integer' || type === 'number') {
    const isInteger = type === 'integer';
    if (least === undefined) return isInteger ? 'must be an integer' : 'must be a number';
    if (most === undefined) {
      return isInteger
        ? message('must be an integer of at least {least}', { least })
        : message('must be a number of at least {least}', { least });
    }
    return isInteger
      ? message('must be an integer from {least} to {most}', { least, most })
      : message('must be a number from {least} to {most}', { least, most });
  }
  if (type === 'array') {
    const { minItems = 0, maxItems } = schema;
    return inEnglish(
      maxItems === undefined ? 'must be a list' : `must be a list of ${minItems} to ${maxItems}`,
    );
  }
  if (Array.isArray(schema.anyOf)) {
    const others = schema.anyOf.filter((one: TSchema) => one.type !== 'null');
    const orNull = others.length < schema.anyOf.length ? ', or null' : '';
    return inEnglish(others.map((one: TSchema) => String(ruleOf(one))).join(', or ') + orNull);
  }
  if (type !== 'string')
    return inEnglish(`must be ${type === 'object' ? 'a JSON object' : (type ?? 'something else')}`);
  const limits = [
    minLength > 1 && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    pattern !== undefined && `matching ${pattern}`,
  ].filter((limit) => limit !== false);
  if (limits.length === 0) return 'must be a string';
  if (limits.length === 1 && maxLength !== undefined) {
    return message('must be a string, at most {most} characters', { most: maxLength });
  }
  return inEnglish(`must be a string, ${limits.join(', ')}`);
}
