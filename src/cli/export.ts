import { choice, choices, duration, integer, text } from '../config-values.ts';
import { ANONYMITIES, PROOFS, PROTOCOLS, SORTS } from '../proxy/proxy.ts';
import { EXPORT_FORMATS } from '../proxy/queries.ts';
import { createClient, cutOff, piecesOf, serverOptions } from './client.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { EXIT } from './exit.ts';
import { flag, value, valueOr } from './options.ts';

const COUNTRIES = [
  /^[a-z]{2}(,[a-z]{2})*$/i,
  'two-letter codes, separated by commas, such as DE,US',
] as const;
const SHARE = [/^(0|1|0?\.\d+|1\.0+)$/, 'a number from 0 to 1'] as const;
const PORTS = [/^[1-9]\d{0,4}(,[1-9]\d{0,4})*$/, 'ports, separated by commas, such as 80,3128'] as const;

const LINES = 'text/plain';
const MEDIA_TYPES: Record<(typeof EXPORT_FORMATS)[number], string> = {
  ...{ standard: LINES, text: LINES, url: LINES },
  csv: 'text/csv',
  json: 'application/json',
};

/** Options passed to the server under the same name, with hyphens for underscores. */
const passed = {
  format: valueOr(
    'FORM',
    choice(
      EXPORT_FORMATS,
      'standard',
      'standard (protocol://ip:port), text (ip:port), url (for clients), csv, json.',
    ),
  ),
  'remote-dns': flag('With --format url: socks5h:// and socks4a://, so that the proxy resolves names.'),
  protocol: value('NAMES', choices(PROTOCOLS, undefined, `Only these protocols: ${PROTOCOLS.join(', ')}.`)),
  country: value('CODES', text(undefined, 'Only these countries, two letters each.', ...COUNTRIES)),
  'exclude-country': value('CODES', text(undefined, 'All countries except these.', ...COUNTRIES)),
  port: value('PORTS', text(undefined, 'Only these ports.', ...PORTS)),
  anonymity: value('NAME', choice(ANONYMITIES, undefined, `Only this anonymity: ${ANONYMITIES.join(', ')}.`)),
  tampering: value(
    'NAME',
    choice(['none', 'some'], undefined, 'none: only proxies that leave headers unchanged.'),
  ),
  proof: value('NAME', choice(PROOFS, undefined, `Only those with this proof: ${PROOFS.join(', ')}.`)),
  'min-proof': value('NAME', choice(PROOFS, undefined, 'Only those with this proof or better.')),
  login: value(
    'NAME',
    choice(['none', 'needed'], undefined, 'needed: only proxies with a login, for the administrator.'),
  ),
  source: value('NAME', text(undefined, 'Only proxies that first appeared in this list.')),
  'min-uptime': value('SHARE', text(undefined, 'Minimum share of time alive, 0 to 1.', ...SHARE)),
  'min-score': value('SHARE', text(undefined, 'Minimum score, 0 to 1.', ...SHARE)),
  unique: value('FIELD', choice(['exit_ip'], undefined, 'exit_ip: only one proxy per exit address.')),
  target: value(
    'SITE',
    text(undefined, 'Proxies most likely to reach this site first: a domain, or a name of PROXY_TARGETS.'),
  ),
  sort: valueOr('ORDER', choice(SORTS, 'dependable', `One of ${SORTS.join(', ')}.`)),
  random: flag('In random order.'),
  offset: value('N', integer(undefined, 'Number of proxies to skip.', 0, 1e9)),
  limit: value('N', integer(undefined, 'Maximum number of proxies. All by default.', 1, 1e9)),
};

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Prints the working proxies of a server, by default the most reliable first. With the server's
ADMIN_TOKEN, the list includes proxies that need a login, with the login.

  picpool export --protocol socks5,http --max-latency 2s --limit 100 > proxies.txt`,
  options: {
    ...serverOptions,
    ...passed,
    'max-latency': value('TIME', duration(undefined, 'Maximum response time, such as 2s.', '1ms')),
    'max-age': value(
      'TIME',
      duration(undefined, 'Only proxies checked within this time, such as 30m.', '1s'),
    ),
  },

  async run({ options, env, terminal }) {
    const { 'max-latency': maxLatencyMs, 'max-age': maxAgeMs } = options;
    const parameters = new URLSearchParams();
    for (const name of Object.keys(passed) as (keyof typeof passed)[]) {
      const given = options[name];
      if (given !== undefined && given !== false) parameters.set(name.replaceAll('-', '_'), String(given));
    }
    if (maxLatencyMs !== undefined) parameters.set('max_latency_ms', String(Math.ceil(maxLatencyMs)));
    if (maxAgeMs !== undefined) parameters.set('max_age', String(Math.ceil(maxAgeMs / 1000)));
    const client = createClient(options.url, env);
    const answer = await client.open(`/api/export?${parameters}`, MEDIA_TYPES[options.format]);
    try {
      for await (const piece of piecesOf(answer)) await terminal.print(piece);
    } catch (error) {
      throw cutOff(error, 'the list is incomplete');
    }
    return EXIT.done;
  },
});
