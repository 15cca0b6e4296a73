import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { duration } from '../config-values.ts';
import { ruleOf } from '../http/errors.ts';
import { coerce } from '../lib/schema.ts';
import { EXPORT_FORMATS, exportQuery } from '../proxy/queries.ts';
import { createClient, cutOff, piecesOf, serverOptions } from './client.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { EXIT } from './exit.ts';
import { flag, value } from './options.ts';

const LINES = 'text/plain';
const MEDIA_TYPES: Record<(typeof EXPORT_FORMATS)[number], string> = {
  ...{ standard: LINES, text: LINES, url: LINES },
  csv: 'text/csv',
  json: 'application/json',
};

/** Times are written as durations here. */
const { max_latency_ms: _latency, max_age: _age, ...PARAMETERS } = exportQuery.properties;

/** The parameters of the API as options, with hyphens for underscores. */
const passed = Object.fromEntries(
  Object.entries(PARAMETERS).map(([name, schema]) => [name.replaceAll('_', '-'), optionFor(name, schema)]),
);

interface Choices {
  enum?: readonly string[];
}

function optionFor(name: string, schema: TSchema) {
  const { type, enum: choices, default: fallback, description = '' }: TSchema & Choices = schema;
  const isTold = choices?.every((choice) => description.includes(choice)) ?? true;
  const help = description.replaceAll('`', '') + (isTold ? '' : ` One of ${choices?.join(', ')}.`);
  if (type === 'boolean') return flag(help);
  const isNumber = type === 'integer' || type === 'number';
  return value(isNumber ? 'N' : choices ? 'NAME' : 'TEXT', {
    description: fallback === undefined ? help : `${help} [${fallback}]`,
    ...(choices && { choices }),
    decode(text) {
      const given: Record<string, unknown> = { [name]: text };
      coerce(exportQuery, given);
      if (!Value.Check(schema, given[name])) throw new Error(`${ruleOf(schema)}, not "${text}"`);
      return String(given[name]);
    },
  });
}

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Prints the working proxies of a server, by default the most reliable first. With the server's
ADMIN_TOKEN, the list includes proxies that need a login, with the login.

  picpool export --protocol socks5,http --max-latency 2s --limit 100 > proxies.txt`,
  options: {
    ...passed,
    ...serverOptions,
    'max-latency': value('TIME', duration(undefined, 'Maximum response time, such as 2s.', '1ms')),
    'max-age': value(
      'TIME',
      duration(undefined, 'Only proxies checked within this time, such as 30m.', '1s'),
    ),
  },

  async run({ options, env, terminal }) {
    const { url, 'max-latency': maxLatencyMs, 'max-age': maxAgeMs, ...others } = options;
    const wishes: Record<string, unknown> = others;
    const parameters = new URLSearchParams();
    for (const [name, given] of Object.entries(wishes)) {
      if (given !== undefined && given !== false) parameters.set(name.replaceAll('-', '_'), String(given));
    }
    if (maxLatencyMs !== undefined) parameters.set('max_latency_ms', String(Math.ceil(maxLatencyMs)));
    if (maxAgeMs !== undefined) parameters.set('max_age', String(Math.ceil(maxAgeMs / 1000)));
    const format = EXPORT_FORMATS.find((name) => name === wishes.format) ?? 'standard';
    const answer = await createClient(url, env).open(`/api/export?${parameters}`, MEDIA_TYPES[format]);
    try {
      for await (const piece of piecesOf(answer)) await terminal.print(piece);
    } catch (error) {
      throw cutOff(error, 'the list is incomplete');
    }
    return EXIT.done;
  },
});
