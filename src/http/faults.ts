import type { TSchema } from '@sinclair/typebox';
import type { ErrorDetail } from '../errors.ts';
import { EXPECTS } from '../lib/schema.ts';

/** A fault as TypeBox reports it. */
export interface SchemaFault {
  path: string;
  schema: TSchema;
  value: unknown;
}

/** Explains what a schema expected and what it got instead. */
export function explainFault({ path, schema, value }: SchemaFault): ErrorDetail {
  const field = path.slice(1).replaceAll('/', '.') || 'body';
  if (value === undefined) return { field, message: `is required and must be ${expectation(schema)}` };
  return { field, message: `must be ${expectation(schema)}, not ${quote(value)}` };
}

function expectation(schema: TSchema): string {
  if (typeof schema[EXPECTS] === 'string') return schema[EXPECTS];
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(', ')}`;
  if (schema.type === 'integer' || schema.type === 'number') {
    const kind = schema.type === 'integer' ? 'an integer' : 'a number';
    const { minimum, maximum } = schema;
    if (minimum !== undefined && maximum !== undefined) return `${kind} from ${minimum} to ${maximum}`;
    return minimum === undefined ? kind : `${kind} of at least ${minimum}`;
  }
  if (schema.type === 'string') {
    const limits = [
      schema.minLength > 1 && `at least ${schema.minLength} characters`,
      schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
      schema.pattern !== undefined && `matching ${schema.pattern}`,
    ].filter(Boolean);
    return ['a string', ...limits].join(', ');
  }
  if (schema.type === 'boolean') return 'true or false';
  return schema.type === 'object' ? 'a JSON object' : `${schema.type ?? 'something else'}`;
}

/** Returns the value, cut to a length that fits a message. */
function quote(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
