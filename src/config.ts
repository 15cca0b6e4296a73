import { FILE_SCHEMES, LIMIT_SCHEMES, READ_SCHEMES, RECORD_SCHEMES } from '../adapters/registry.ts';
import {
  baseUrl,
  bearerToken,
  bytes,
  choice,
  choices,
  duration,
  expiry,
  flag,
  hosts,
  integer,
  networks,
  origins,
  period,
  portOptions,
  ports,
  rates,
  signingSecret,
  someOf,
  targets,
  text,
  timer,
  url,
  urls,
} from './config-values.ts';
import { ConfigError, type ConfigFault } from './errors.ts';

const BASE_PATH = /^(\/(?!\.\.?(\/|$))[\w.-]+)*$/;

/** Every variable with its default and purpose. The table in `docs/settings.md` has the same order. */
export const settings = {
  HOST: text(
    '0.0.0.0',
    'Address to listen on; `::` serves IPv6 and IPv4; `unix:/path` is a socket, whose peers are trusted as proxies.',
    /^(unix:\/\S+|[^\s/[\]]+)$/,
    'an address such as 127.0.0.1 or ::1, or unix: and an absolute path',
  ),
  PORT: integer('3000', 'Port to listen on; 0 lets the system choose.', 0, 65_535),
  DATA_DIR: text('./data', 'Folder of the database, the images and temporary files.'),
  METADATA_URL: url('sqlite:$DATA_DIR/picpool.db', RECORD_SCHEMES, 'Where records are stored.'),
  BLOBS_URL: url('file:$DATA_DIR/images', FILE_SCHEMES, 'Where image files are stored.'),
  METADATA_READ_URL: url(
    undefined,
    READ_SCHEMES,
    'Postgres replica that serves lists and searches while it is up to date.',
  ),
  LIMITS_URL: url(
    undefined,
    LIMIT_SCHEMES,
    'Redis that counts requests for the rate limits; by default the record store does.',
  ),
  AWS_ACCESS_KEY_ID: text(
    undefined,
    'Key ID for S3. If not set, the usual AWS sources are used: profile, role, container, instance.',
  ),
  AWS_SECRET_ACCESS_KEY: text(undefined, 'Secret key for S3.'),
  AWS_SESSION_TOKEN: text(undefined, 'Session token of temporary credentials.'),
  PUBLIC_URL: baseUrl('Base URL of all links, with or without a path; taken from the request if not set.'),
  ALLOWED_HOSTS: hosts(
    'Host names besides that of PUBLIC_URL, or `*`, under which pages can upload and delete; only local names if neither is set.',
  ),
  SERVICES: choices(['proxy', 'image'], 'proxy,image', 'Which services run.'),
  PROXY_BASE_PATH: text('', 'Path prefix of the proxy pool.', BASE_PATH, 'a path such as /proxy'),
  IMAGE_BASE_PATH: text('', 'Path prefix of the image host.', BASE_PATH, 'a path such as /image'),
  TRUSTED_PROXIES: networks(
    'Reverse proxies whose X-Forwarded-* headers are trusted: addresses, networks, `loopback` or `private`.',
  ),
  TRUSTED_HOPS: integer(
    undefined,
    'Number of proxies in front, if they are counted instead of recognised by address.',
    1,
    10,
  ),
  ADMIN_TOKEN: bearerToken('Bearer token of the administrator: refresh, cleanup, deletion, blocks.'),
  METRICS_TOKEN: bearerToken('Bearer token for `/metrics`, which is open to everyone if not set.'),
  MCP_READ_TOKEN: bearerToken(
    'Bearer token for agents that find proxies and images at `/mcp` (`docs/mcp.md`); off if not set.',
  ),
  MCP_WRITE_TOKEN: bearerToken(
    'The same for agents that can also test and report proxies, and upload, even with `UPLOAD=token`.',
  ),
  CORS_ORIGINS: origins('Origins whose scripts can call the API, or `*`; none if not set.'),
  ABUSE_CONTACT: text(
    undefined,
    'Mail address or web page for abuse reports, shown on the pages and in the statistics.',
    /^(https?:\/\/\S+|[^\s@<>"]+@[^\s@<>"]+)$/,
    'a mail address or a URL',
  ),
  TERMS: text(undefined, 'Text file with the rules of the site, shown at `/contact`; needs `ABUSE_CONTACT`.'),
  WEBHOOK_URLS: urls(['http:', 'https:'], 'URLs that signed events are posted to.'),
  WEBHOOK_SECRET: signingSecret('Key that signs events; required with `WEBHOOK_URLS`.'),
  WEBHOOK_POOL_BELOW: integer(
    '10',
    'An event is sent when fewer proxies than this are working.',
    0,
    1_000_000,
  ),
  SHUTDOWN_DELAY: timer(
    '0s',
    'How long the server keeps serving after SIGTERM while it reports that it is not ready.',
    '0s',
  ),
  SHUTDOWN_GRACE: timer('25s', 'How long requests may continue after that.', '0s'),
  RATE_LIMITS: rates(
    'on',
    'Limits per client: `on`, `off`, or your own, such as `upload=60/1m,read=2000/10s`.',
  ),

  PROXY_SOURCES: text(undefined, 'Proxy lists: URLs, paths, `builtin`, or a JSON file of lists.'),
  PROXY_JUDGES: urls(
    ['http:', 'https:'],
    'URLs of judges: pages that show what a proxy sends on, fetched through each proxy to prove it.',
  ),
  PROXY_JUDGE_CA: text(undefined, 'PEM of the authority of TLS judges and of TLS proxies.'),
  PROXY_WITNESSES: urls(
    ['http:'],
    'URLs of large files that never change and can be fetched in parts: a proxy without TLS has to deliver a part of one. `none`: no such test.',
    'none',
  ),
  PROXY_REFRESH_INTERVAL: timer('1h', 'Time between refreshes.', '1s'),
  PROXY_REFRESH_ON_START: flag(
    'true',
    'Refresh at the start, unless the last refresh is more recent than the interval.',
  ),
  PROXY_REFRESH_BUDGET: timer('3m', 'How long the checks of one refresh may take.', '1s'),
  PROXY_CHECKS_PER_HOUR: integer(
    '100000',
    'Maximum number of checks per hour, by all copies of the server together, at least 1,000. A refresh may use half ' +
      'of them in advance; one that the administrator starts checks everything.',
    1000,
    10_000_000,
  ),
  PROXY_CHECK_CONCURRENCY: integer('1000', 'Checks that run at once.', 1, 20_000),
  PROXY_CHECK_TIMEOUT: timer('8s', 'Time limit of one check.', '100ms'),
  PROXY_DEAD_RETENTION: duration('7d', 'How long a dead proxy is remembered.', '1s'),
  PROXY_MAX_POOL: integer('200000', 'Maximum number of proxies remembered.', 1, 5_000_000),
  PROXY_ALLOW_PRIVATE: flag('false', 'Also use private and loopback addresses. For tests only.'),
  PROXY_TARGETS: targets(
    'Sites that proxies are tried with, one every 5 s, with statuses and texts: `shop=https://shop.example/#200~"Add to cart"!captcha`.',
  ),
  PROXY_COUNTRY_DB: text(undefined, 'Country database (.mmdb) to use instead of the built-in one.'),

  GATEWAY_PORT: integer(
    undefined,
    'Port of the gateway, one proxy in front of the pool; off if not set.',
    0,
    65_535,
  ),
  GATEWAY_LISTEN: portOptions('More ports, with options for clients without login: `8901=country-de`.'),
  GATEWAY_ASK: flag(
    'false',
    'Ask clients for a login even if none is needed: browsers send options only then.',
  ),
  GATEWAY_TRIES: integer('12', 'Maximum number of proxies tried per request that can be connected.', 1, 100),
  GATEWAY_TIMEOUT: timer(
    '10s',
    'Time for a response to a GET (up to twice that if a proxy must show that it is not its own) or a TLS handshake; others have `GATEWAY_IDLE`.',
    '100ms',
  ),
  GATEWAY_IDLE: timer('5m', 'A tunnel or response that carries nothing for this long is closed.', '1s'),
  GATEWAY_PORTS: ports('80,443', 'Target ports that can be reached through the gateway: a list, or `any`.'),
  GATEWAY_CONNECTIONS: integer('1024', 'Connections to the gateway per user or address.', 1, 100_000),
  GATEWAY_LIFETIME: timer('24h', 'A connection to the gateway is closed after this long, even in use.', '1s'),
  GATEWAY_RETRY: flag('true', 'Send a GET over plain http through further exits on 403, 429, 451 and 503.'),
  GATEWAY_LOG: flag('false', 'Log each request through the gateway, with its exit.'),
  GATEWAY_STRICT_CONNECT: flag(
    'false',
    'Answer CONNECT only after a proxy has answered it, instead of at once.',
  ),

  UPLOAD: choice(
    ['open', 'token'],
    'open',
    'Who may upload: anyone, or only holders of tokens (`picpool token create`).',
  ),
  IMAGE_FROM_URL: choice(
    ['off', 'token', 'open'],
    'off',
    'Who may have the server fetch a picture from a URL: nobody, holders of tokens, or anyone who may upload.',
  ),
  IMAGE_MAX_UPLOAD: bytes('32MiB', 'Largest upload.', '1KiB'),
  IMAGE_MAX_STORAGE: bytes(
    undefined,
    'Maximum size of all images and their smaller versions; uploads beyond it get 507.',
    '1KiB',
  ),
  IMAGE_MIN_FREE: bytes('256MiB', 'Free disk space to keep; below it, uploads get 507.', '0'),
  IMAGE_MAX_PIXELS: integer(
    '100000000',
    'Maximum number of pixels of an upload, over all frames.',
    1,
    1_000_000_000,
  ),
  IMAGE_MAX_FRAMES: integer('500', 'Maximum number of frames of an animation.', 1, 100_000),
  IMAGE_WORKERS: integer(
    undefined,
    'Number of simultaneous conversions, plus one for cheap ones. Default: one per core, if 600 MB of memory is there for each.',
    1,
    256,
  ),
  IMAGE_WORKER_MEMORY: bytes(
    '2GiB',
    'Memory limit of one conversion; pictures that need more are refused.',
    '128MiB',
  ),
  IMAGE_SANDBOX: choice(
    ['on', 'require', 'off'],
    'on',
    'Sandbox of the conversion processes on Linux. `on`: what the kernel supports; `require`: all of it, or the server does not start; `off`: none.',
  ),
  IMAGE_HEIC: flag(
    'on',
    'Accept HEIC pictures, the format of many phones. HEIC is patented in some countries.',
  ),
  IMAGE_CONVERT_TIMEOUT: timer('30s', 'Time limit of one conversion.', '100ms'),
  IMAGE_DELETE_BY_ADDRESS: period(
    'always',
    'How long an uploader may delete by address: `always`, a duration, or `off`. The token always works.',
  ),
  IMAGE_CLIENTS: someOf(
    ['lsky', 'smms', 'imgur', 'chevereto', 'catbox', '0x0', 'picgo'],
    'Clients of other image hosts that may upload here (`docs/clients.md`): `on`, `off`, or names of lsky, smms, imgur, chevereto, catbox, 0x0, picgo.',
  ),
  IMAGE_CORS: flag(
    'on',
    'Let scripts and canvases of any site read public images (`Access-Control-Allow-Origin: *`).',
  ),
  IMAGE_LISTING: choice(
    ['public', 'unlisted', 'off'],
    'public',
    'Visibility of uploads that do not ask for one: `public` (in the gallery) or `unlisted`. `off`: no gallery, and empty lists.',
  ),
  IMAGE_MAX_EXPIRY: expiry('10y', 'Maximum `expires_in` of uploads, such as 30d or 1y; `never`: no maximum.'),
  IMAGE_CACHE_MAX_AGE: duration(
    '24h',
    'How long caches may keep a public file, but not beyond its expiry, and without one, not for more than a tenth of `IMAGE_RETENTION`.',
    '0s',
  ),
  IMAGE_RETENTION: duration(
    '90d',
    'The cleanup removes images that have not been opened for this long while the server ran.',
    '1s',
  ),
  IMAGE_CLEANUP_INTERVAL: timer('24h', 'Time between cleanups.', '1s'),
  IMAGE_SCAN_URL: url(
    undefined,
    ['http:', 'https:'],
    'Service that checks each picture before it is stored; it gets a signed request and returns `allow`, `block` or `review`.',
  ),
  IMAGE_SCAN_SECRET: signingSecret('Key that signs these requests; required with `IMAGE_SCAN_URL`.'),
  IMAGE_SCAN_SEND: choice(
    ['hash', 'look', 'preview', 'file'],
    'hash',
    'What the service gets besides facts and SHA-256: nothing, the perceptual hash, a JPEG of at most 512 pixels, or the picture.',
  ),
  IMAGE_SCAN_TIMEOUT: timer('10s', 'How long to wait for the service.', '100ms'),
  IMAGE_SCAN_FAILURE: choice(
    ['refuse', 'allow'],
    'refuse',
    'If the service does not respond: `refuse` uploads (503) or `allow` them.',
  ),
  BLOCK_HASHES: text(undefined, 'File of SHA-256 and MD5 hashes of uploads that are refused.'),
  IMAGE_STRAY_RETENTION: duration('7d', 'How long files without a record are kept in quarantine.', '1s'),

  AUDIT_LOG: text(
    undefined,
    'File, or URL, that also gets every entry of the audit log as a line of JSON.',
    /^(https?:\/\/\S+|\/.*)$/,
    'an absolute path or a URL',
  ),
  AUDIT_RETENTION: duration('365d', 'How long the audit log is kept, in days on which the server ran.', '1d'),
  LOG_LEVEL: choice(['debug', 'info', 'warn', 'error'], 'info', 'Lowest level to log.'),
  LOG_ADDRESSES: choice(['full', 'hashed', 'off'], 'full', 'How client addresses are logged.'),
  LOG_FORMAT: choice(
    ['pretty', 'json'],
    undefined,
    '`json` or `pretty`; if not set, `pretty` in a terminal.',
  ),
};

/** Settings that can be read from the file that `NAME_FILE` names. */
export const SECRETS = [
  'METADATA_URL',
  'METADATA_READ_URL',
  'LIMITS_URL',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'ADMIN_TOKEN',
  'METRICS_TOKEN',
  'MCP_READ_TOKEN',
  'MCP_WRITE_TOKEN',
  'IMAGE_SCAN_SECRET',
  'WEBHOOK_SECRET',
] as const satisfies (keyof Config)[];

/** Settings that need another one. */
const COMPANIONS: readonly [given: keyof Config, needed: keyof Config][] = [
  ['WEBHOOK_URLS', 'WEBHOOK_SECRET'],
  ['TERMS', 'ABUSE_CONTACT'],
  ['GATEWAY_LISTEN', 'GATEWAY_PORT'],
  ['IMAGE_SCAN_URL', 'IMAGE_SCAN_SECRET'],
  ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID'],
  ['AWS_SESSION_TOKEN', 'AWS_ACCESS_KEY_ID'],
];

/** The settings under the names of their variables. Durations are in ms, sizes in bytes. */
export type Config = {
  [Name in Exclude<keyof Settings, OptionalName>]: ReturnType<Settings[Name]['decode']>;
} & { [Name in OptionalName]?: ReturnType<Settings[Name]['decode']> };

type Settings = typeof settings;
type OptionalName = {
  [Name in keyof Settings]: Settings[Name] extends { default: string } ? never : Name;
}[keyof Settings];

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses the environment into a configuration. An empty variable counts as missing, unknown ones are ignored.
 * @throws {ConfigError} with all faults at once.
 */
export function parseConfig(env: Environment): Config {
  const faults: ConfigFault[] = [];
  const decoded: Record<string, unknown> = {};
  for (const [variable, setting] of Object.entries(settings)) {
    const value = env[variable]?.trim() || setting.default;
    if (value === undefined) continue;
    try {
      // Nothing removes them from a line of `podman run --env-file`, or of a list in a Compose file.
      if (/^(["']).*\1$/s.test(value)) throw new Error('must not be in quotes: they would be part of it');
      decoded[variable] = setting.decode(value);
    } catch (error) {
      faults.push({ variable, message: error instanceof Error ? error.message : String(error) });
    }
  }
  for (const [given, variable] of COMPANIONS) {
    if (decoded[given] !== undefined && !env[variable]?.trim()) {
      faults.push({ variable, message: `must be set where ${given} is` });
    }
  }
  const hasDoor = decoded.TRUSTED_PROXIES !== undefined || String(decoded.HOST).startsWith('unix:');
  if (decoded.TRUSTED_HOPS !== undefined && !hasDoor) {
    faults.push({
      variable: 'TRUSTED_PROXIES',
      message: 'must name the nearest proxy when TRUSTED_HOPS is set',
    });
  }
  if (decoded.MCP_READ_TOKEN !== undefined && decoded.MCP_READ_TOKEN === decoded.MCP_WRITE_TOKEN) {
    faults.push({ variable: 'MCP_READ_TOKEN', message: 'must differ from MCP_WRITE_TOKEN' });
  }
  const [records, replica] = [String(decoded.METADATA_URL), decoded.METADATA_READ_URL];
  if (replica !== undefined && !READ_SCHEMES.some((scheme) => records.startsWith(scheme))) {
    faults.push({
      variable: 'METADATA_READ_URL',
      message: 'needs METADATA_URL=postgres://...',
    });
  }
  if (faults.length > 0) throw new ConfigError(faults);
  const config = decoded as Config;
  config.METADATA_URL = withFolder(config.METADATA_URL, config);
  config.BLOBS_URL = withFolder(config.BLOBS_URL, config);
  return config;
}

/** Returns the value of a setting with the data folder in it. */
export function withFolder(value: string, { DATA_DIR }: Pick<Config, 'DATA_DIR'>): string {
  // As a function, because `$&` may be in the name of a folder.
  return value.replace(/\$(DATA_DIR|\{DATA_DIR\})/, () => DATA_DIR);
}
