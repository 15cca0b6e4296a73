import type { TObject, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ruleOf } from '../http/errors.ts';
import { coerce } from '../lib/schema.ts';
import { flag, type Options, value } from './options.ts';

/** Returns the parameters of an operation of the API as options, with hyphens for underscores, without some. */
export function optionsOf(schema: TObject, without: readonly string[]): Options {
  const taken = Object.entries(schema.properties).filter(([name]) => !without.includes(name));
  return Object.fromEntries(
    taken.map(([name, property]) => [name.replaceAll('_', '-'), optionFor(schema, name, property)]),
  );
}

function optionFor(whole: TObject, name: string, schema: TSchema) {
  const { type, default: fallback, description = '' } = schema;
  const choices: readonly string[] | undefined = schema.enum;
  const isTold = choices?.every((choice) => description.includes(choice)) ?? true;
  const help = description.replaceAll('`', '') + (isTold ? '' : ` One of ${choices?.join(', ')}.`);
  if (type === 'boolean') return flag(help);
  const isNumber = type === 'integer' || type === 'number';
  return value(isNumber ? 'N' : choices ? 'NAME' : 'TEXT', {
    description: fallback === undefined ? help : `${help} [${fallback}]`,
    ...(choices && { choices }),
    decode(text) {
      const given: Record<string, unknown> = { [name]: text };
      coerce(whole, given);
      if (!Value.Check(schema, given[name])) throw new Error(`${ruleOf(schema)}, not "${text}"`);
      return String(given[name]);
    },
  });
}

/** Returns the parameters that the options of these names give. */
export function parametersOf(
  options: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names
      .filter((name) => options[name] !== undefined && options[name] !== false)
      .map((name) => [name.replaceAll('-', '_'), String(options[name])]),
  );
}
