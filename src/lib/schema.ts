import {
  Kind,
  type SchemaOptions,
  type TObject,
  type TSchema,
  type TString,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox';
import { invalidParameter } from '../errors.ts';
import { misspelt } from './nearest.ts';

/** A function of a schema that says what a text was probably meant to be, if it is not what the schema wants. */
export const HINT = 'x-hint';

/** What a schema wants, in words for a message. */
export const EXPECTS = 'x-expects';

type Raw = Record<string, unknown>;

/**
 * Makes of query or path parameters, which are all text, what their schema speaks of, before it is validated:
 * an empty value counts as not given, numbers and booleans are converted where they are well formed (else
 * the text stays and validation reports it), and choices are matched in any letter case. Unknown names are left alone.
 * @throws {AppError} `invalid_parameter` if a hint says what was meant, and for a name that misspells a known one: to ignore it would answer another question.
 */
export function coerce(schema: TObject, raw: Raw): void {
  const known = Object.keys(schema.properties);
  for (const name of Object.keys(raw)) {
    const meant = known.includes(name) ? undefined : misspelt(name, known);
    if (meant !== undefined)
      throw invalidParameter(name, `There is no parameter ${name}; did you mean ${meant}?`);
  }
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = raw[name];
    if (typeof value !== 'string') continue;
    if (value === '') delete raw[name];
    else raw[name] = coerceText(property, value);
    const hint: unknown = value !== '' && typeof property[HINT] === 'function' && property[HINT](raw[name]);
    if (typeof hint === 'string') throw invalidParameter(name, `${name} ${hint}`);
  }
}

function coerceText(schema: TSchema, text: string): unknown {
  if (schema.type === 'integer' || schema.type === 'number') {
    return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  }
  if (schema.type === 'boolean') {
    const lower = text.toLowerCase();
    if (['true', '1', 'on', 'yes'].includes(lower)) return true;
    if (['false', '0', 'off', 'no'].includes(lower)) return false;
    return text;
  }
  if (schema[SEVERAL] === true) return text.toLowerCase().replace(/\s*,\s*/g, ',');
  const choices: unknown = schema.enum;
  if (Array.isArray(choices)) return choices.find((known) => known === text.toLowerCase()) ?? text;
  return text;
}

/** Marks a text of several values, in any letter case. */
const SEVERAL = 'x-several';

/** Values separated by commas, as text. `item`: what one looks like in lower case; `expects`: the same in words. */
export function several(item: string, expects: string, options: SchemaOptions = {}): TString {
  return Type.String({
    ...options,
    pattern: `^(${item})(,(${item})){0,99}$`,
    [EXPECTS]: expects,
    [SEVERAL]: true,
  });
}

const ONE_OF = 'picpool:one-of';
TypeRegistry.Set<TUnsafe<string> & { enum: readonly string[] }>(
  ONE_OF,
  (schema, value) => typeof value === 'string' && schema.enum.includes(value),
);

/** A string out of a fixed choice. Unlike a union of literals it reads as a plain `enum` in the API description. */
export function oneOf<const T extends string>(
  choices: readonly T[],
  options: SchemaOptions = {},
): TUnsafe<T> {
  return Type.Unsafe<T>({ ...options, [Kind]: ONE_OF, type: 'string', enum: [...choices] });
}
