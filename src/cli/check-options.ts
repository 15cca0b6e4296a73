import type { Config } from '../config.ts';
import { choice, text, urls } from '../config-values.ts';
import { PROTOCOLS } from '../proxy/proxy.ts';
import { SOURCE_FORMATS } from '../proxy/sources/source.ts';
import { flag, type Given, value, valueOr, values } from './options.ts';

/** The options of commands that read lists and connect to their proxies. */
export const listOptions = {
  protocol: values(
    'NAME',
    choice(PROTOCOLS, undefined, `Protocol of entries that do not name one: ${PROTOCOLS.join(', ')}. [http]`),
  ),
  input: valueOr(
    'FORM',
    choice(
      SOURCE_FORMATS,
      'lines',
      `Format of the lists, if their beginning does not show it: ${SOURCE_FORMATS.join(', ')}.`,
    ),
  ),
  'judge-ca': value(
    'FILE',
    text(undefined, 'PEM of the authority of TLS judges and of TLS proxies. [PROXY_JUDGE_CA]'),
  ),
  'allow-private': flag('Allows private and loopback addresses. [PROXY_ALLOW_PRIVATE]'),
};

/** The options of commands that check the proxies of lists. */
export const checkOptions = {
  ...listOptions,
  judge: values(
    'URL',
    urls(['http:', 'https:'], 'Page that is fetched through each proxy to test it. [PROXY_JUDGES]'),
  ),
};

/** Returns the settings with those that the options replace. */
export function withCheckOptions(config: Config, options: Given<typeof checkOptions>): Config {
  const judges = options.judge.flat();
  const ca = options['judge-ca'];
  return {
    ...config,
    ...(judges.length > 0 && { PROXY_JUDGES: judges }),
    ...(ca !== undefined && { PROXY_JUDGE_CA: ca }),
    PROXY_ALLOW_PRIVATE: options['allow-private'] || config.PROXY_ALLOW_PRIVATE,
  };
}
