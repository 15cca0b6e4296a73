import { choice, duration, text } from '../config-values.ts';
import { ANONYMITIES, PROOFS, PROTOCOLS, SORTS } from '../proxy/proxy.ts';
import { EXPORT_FORMATS } from '../proxy/queries.ts';
import { createClient, reasonOf, serverOptions } from './client.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { flag, value, valueOr } from './options.ts';

const COUNTRY = [/^[A-Za-z]{2}$/, 'a code of two letters, such as DE'] as const;

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Prints all living proxies of a server, the most dependable first unless told otherwise.

  picpool export --protocol socks5 --max-latency 2s > socks5.txt`,
  options: {
    ...serverOptions,
    format: valueOr(
      'FORM',
      choice(
        EXPORT_FORMATS,
        'standard',
        'standard (protocol://ip:port), text (ip:port), url (what clients take), csv, json.',
      ),
    ),
    protocol: value('NAME', choice(PROTOCOLS, undefined, `Only this one: ${PROTOCOLS.join(', ')}.`)),
    country: value('CODE', text(undefined, 'Only this country, two letters.', ...COUNTRY)),
    'exclude-country': value('CODE', text(undefined, 'All but this country.', ...COUNTRY)),
    anonymity: value('NAME', choice(ANONYMITIES, undefined, `Only this one: ${ANONYMITIES.join(', ')}.`)),
    'min-proof': value(
      'NAME',
      choice(PROOFS, undefined, `Only what is proven so or better: ${PROOFS.join(', ')}.`),
    ),
    source: value('NAME', text(undefined, 'Only what this list named first.')),
    'max-latency': value('TIME', duration(undefined, 'Longest response time, such as 2s.', '1ms')),
    'max-age': value('TIME', duration(undefined, 'Checked within this time, such as 30m.', '1s')),
    'min-uptime': value(
      'SHARE',
      text(
        undefined,
        'Least share of time alive, from 0 to 1.',
        /^(0|1|0?\.\d+|1\.0+)$/,
        'a number from 0 to 1',
      ),
    ),
    target: value('SITE', text(undefined, 'Those first that most likely reach it: a domain, or a name.')),
    sort: valueOr('ORDER', choice(SORTS, 'dependable', `One of ${SORTS.join(', ')}.`)),
    random: flag('In random order.'),
  },

  async run({ options, env, terminal }) {
    const { 'max-latency': maxLatencyMs, 'max-age': maxAgeMs } = options;
    const query = {
      format: options.format,
      protocol: options.protocol,
      country: options.country,
      exclude_country: options['exclude-country'],
      anonymity: options.anonymity,
      min_proof: options['min-proof'],
      source: options.source,
      max_latency_ms: maxLatencyMs === undefined ? undefined : Math.ceil(maxLatencyMs),
      max_age: maxAgeMs === undefined ? undefined : Math.ceil(maxAgeMs / 1000),
      min_uptime: options['min-uptime'],
      target: options.target,
      sort: options.sort,
      random: options.random,
    };
    const given = Object.entries(query).filter(([, text]) => text !== undefined);
    const client = createClient(options.url, env);
    const parameters = new URLSearchParams(
      Object.fromEntries(given.map(([name, text]) => [name, String(text)])),
    );
    const answer = await client.call('GET', `/api/export?${parameters}`);
    const decoder = new TextDecoder();
    try {
      for await (const piece of answer.body ?? []) {
        await terminal.print(decoder.decode(piece, { stream: true }));
      }
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new CommandError(`The export broke off (${reasonOf(error)}): the list is not complete.`);
    }
    return EXIT.done;
  },
});
