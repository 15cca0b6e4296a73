import {
  type ArrayOptions,
  type IntegerOptions,
  Kind,
  type ObjectOptions,
  type SchemaOptions,
  type StringOptions,
  type TNull,
  type TObject,
  type TProperties,
  type TSchema,
  type TString,
  type TUnion,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox';
import { cutSent, inEnglish, invalidParameter, message } from '../errors.ts';
import { readFlag } from './flag.ts';
import { nearest } from './nearest.ts';

/** Key of a function in a schema that guesses what an invalid text was meant to be. */
export const HINT = 'x-hint';

/** What a schema expects, in words for a message. */
export const EXPECTS = 'x-expects';

/** Other words for a parameter, by which somebody may mean it. */
export const ALSO = 'x-also';

type Raw = Record<string, unknown>;

/**
 * Converts query or path parameters, which are all text, to the types of their schema before validation: an empty
 * value counts as missing, numbers and booleans are converted if they are well formed (otherwise the text stays and
 * validation reports it), and choices match in any letter case. Unknown names, which others append to links, are removed
 * unless the schema forbids them; those that begin with `_`, with which clients avoid caches, always.
 * @throws {AppError} `invalid_parameter` if a hint says what was meant, for a misspelt or shortened known name, and for a
 * forbidden one, because ignoring it would answer another question, or leave a picture without its password.
 * @param url where a parameter with several values may also be repeated. Default: nowhere.
 */
export function coerce(schema: TObject, raw: Raw, url = ''): void {
  const known = Object.keys(schema.properties);
  for (const name of Object.keys(raw)) {
    if (known.includes(name)) continue;
    const field = cutSent(name);
    const lower = name.toLowerCase();
    const meant =
      nearest(lower, known) ?? known.find((one) => schema.properties[one]?.[ALSO]?.includes(lower));
    if (meant !== undefined)
      throw invalidParameter(
        field,
        message('There is no parameter {field}; did you mean {meant}?', { field, meant }),
      );
    if (schema.additionalProperties === false && !name.startsWith('_'))
      throw invalidParameter(
        field,
        inEnglish(`There is no parameter ${field}; there are ${known.join(', ')}.`),
      );
    delete raw[name];
  }
  for (const [name, property] of Object.entries(schema.properties)) {
    if (property[SEVERAL] === true && name in raw && url.includes('&'))
      raw[name] = new URL(url).searchParams.getAll(name).filter(Boolean).join();
    const value = raw[name];
    if (typeof value !== 'string') continue;
    if (value === '') delete raw[name];
    else raw[name] = coerceText(property, value);
    const hint: unknown = value !== '' && typeof property[HINT] === 'function' && property[HINT](raw[name]);
    if (typeof hint === 'string') throw invalidParameter(name, inEnglish(`${name} ${hint}`));
  }
}

/** Returns values that are separated by commas in lower case, without blanks around them. */
function tidied(text: string): string {
  return text
    .toLowerCase()
    .split(',')
    .map((value) => value.trim())
    .join();
}

/** Converts a text to the type of its schema, if it is well formed. */
export function coerceText(schema: TSchema, text: string): unknown {
  if (schema.type === 'integer' || schema.type === 'number') {
    return /^[+-]?\d+(\.\d+)?$/.test(text) && Number.isFinite(Number(text)) ? Number(text) : text;
  }
  if (schema.type === 'boolean') return readFlag(text) ?? text;
  if (schema[SEVERAL] === true) return tidied(text);
  const choices: unknown = schema.enum;
  if (Array.isArray(choices)) return choices.find((known) => known === text.toLowerCase()) ?? text;
  return text;
}

/** Marks a text with several values, in any letter case. */
const SEVERAL = 'x-several';

/** Comma-separated values, as text. `item`: the form of a value in lower case; `expects`: the same in words. */
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

/** One of a fixed set of strings. Unlike a union of literals, it appears as a plain `enum` in the API description. */
export function oneOf<const T extends string>(
  choices: readonly T[],
  description?: string,
  rules: SchemaOptions = {},
): TUnsafe<T> {
  const said = description === undefined ? rules : { description, ...rules };
  return Type.Unsafe<T>({ ...said, [Kind]: ONE_OF, type: 'string', enum: [...choices] });
}

/** Fields, with what the API description says about them. */
export const text = (description: string, rules: StringOptions = {}) =>
  Type.String({ description, ...rules });
export const integer = (description: string, rules: IntegerOptions = {}) =>
  Type.Integer({ description, ...rules });
export const number = (description: string) => Type.Number({ description });
export const flag = (description: string, rules: SchemaOptions = {}) =>
  Type.Boolean({ description, ...rules });
export const listOf = <T extends TSchema>(items: T, description: string, rules: ArrayOptions = {}) =>
  Type.Array(items, { description, ...rules });

/** An object that the API description calls by this name. */
export const named = <T extends TProperties>($id: string, fields: T, rules: ObjectOptions = {}): TObject<T> =>
  Type.Object(fields, { ...rules, $id });

/** A value or `null`. `description`: what the two say together. */
export function nullable<T extends TSchema>(schema: T, description?: string): TUnion<[T, TNull]> {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}
