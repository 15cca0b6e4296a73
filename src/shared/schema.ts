import type { TObject, TSchema } from '@sinclair/typebox';

type Raw = Record<string, unknown>;

/**
 * Makes of query or path parameters, which are all text, what their schema speaks of, before it is validated:
 * an empty value counts as not given, numbers and booleans are converted where they are well formed (else
 * the text stays and validation reports it), and choices are matched in any letter case.
 */
export function coerce(schema: TObject, raw: Raw): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = raw[name];
    if (typeof value !== 'string') continue;
    if (value === '') delete raw[name];
    else raw[name] = coerceText(property, value);
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
  const choices: unknown = schema.enum;
  if (Array.isArray(choices)) return choices.find((known) => known === text.toLowerCase()) ?? text;
  return text;
}
