import { duration } from '../config-values.ts';
import { exportQuery } from '../proxy/queries.ts';
import { optionsOf, parametersOf } from './api-options.ts';
import { createClient, cutOff, piecesOf, serverOptions } from './client.ts';
import { defineCommand } from './command.ts';
import { EXIT } from './exit.ts';
import { value } from './options.ts';

/** By format; those of others are `text/plain`. */
const MEDIA_TYPES: Partial<Record<string, string>> = { csv: 'text/csv', json: 'application/json' };

/** Times are written as durations here. */
const passed = optionsOf(exportQuery, ['max_latency_ms', 'max_age']);

export const command = defineCommand({
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
    const { url, 'max-latency': maxLatencyMs, 'max-age': maxAgeMs } = options;
    const parameters = new URLSearchParams(parametersOf(options, Object.keys(passed)));
    if (maxLatencyMs !== undefined) parameters.set('max_latency_ms', String(Math.ceil(maxLatencyMs)));
    if (maxAgeMs !== undefined) parameters.set('max_age', String(Math.ceil(maxAgeMs / 1000)));
    const mediaType = MEDIA_TYPES[parameters.get('format') ?? ''] ?? 'text/plain';
    const client = createClient(url, env, 'PROXY_BASE_PATH');
    const answer = await client.open(`/api/export?${parameters}`, mediaType);
    try {
      const isJson = mediaType === MEDIA_TYPES.json;
      let last = isJson ? '' : '\n';
      for await (const piece of piecesOf(answer)) {
        last = (last + piece).slice(-2);
        await terminal.print(piece);
      }
      // What stands in between may end an answer that broke off like a whole one.
      if (!last.endsWith(isJson ? ']\n' : '\n')) throw new Error('its end is missing');
    } catch (error) {
      throw cutOff(error, 'the list is incomplete');
    }
    return EXIT.done;
  },
});
