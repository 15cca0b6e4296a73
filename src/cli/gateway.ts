import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { parseConfig, settings } from '../config.ts';
import { integer, text } from '../config-values.ts';
import { withCause } from '../errors.ts';
import { createAdmit } from '../gateway/admission.ts';
import { startGateway } from '../gateway/gateway.ts';
import { createMeter } from '../gateway/meter.ts';
import { Sessions } from '../gateway/sessions.ts';
import { type Upstream, unknownUpstream } from '../gateway/upstream.ts';
import { isHostName } from '../lib/address.ts';
import { within } from '../lib/deadline.ts';
import { countOf, formatCount } from '../lib/format.ts';
import { createMetrics } from '../lib/metrics.ts';
import { lazySecureContext } from '../proxy/check/exchange.ts';
import { isRefused } from '../proxy/check/policy.ts';
import { sitesByName } from '../proxy/targets/ask.ts';
import { createTestimony } from '../proxy/targets/testimony.ts';
import { ownAddresses, readAuthority } from '../start/checker.ts';
import { dialByName } from '../start/dial-by-name.ts';
import { type InputOptions, listOptions, openCandidates } from './check-input.ts';
import { defineCommand } from './command.ts';
import { CommandError, EXIT, usageError } from './exit.ts';
import { flag, valueOr, values } from './options.ts';
import { endingSignal } from './signals.ts';

const CONNECTIONS = 4096;

export const command = defineCommand({
  about: `Runs one proxy in front of the proxies of a list, for HTTP, CONNECT and SOCKS5 on the same port of 127.0.0.1.
A request goes to one after another until one delivers the target's response; what works is remembered, and
each has its turn. It needs no server and no store, and the list need not be checked: the first requests find
out what works. After SIGTERM or Ctrl-C, it delivers what it has begun, for SHUTDOWN_GRACE at most; a second one
ends it at once.

  picpool gateway --list proxies.txt --port 8899
  picpool check proxies.txt --protocol http --protocol https --format url | picpool gateway --list -
  curl -x http://127.0.0.1:8899 https://example.com/`,
  options: {
    list: values('FILE', text(undefined, 'A list of proxies; - is standard input.')),
    ...listOptions,
    port: valueOr('N', integer('8899', 'Port to listen on; 0 lets the system choose.', 0, 65_535)),
    tries: valueOr('N', settings.GATEWAY_TRIES),
    timeout: valueOr('TIME', settings.GATEWAY_TIMEOUT),
    idle: valueOr('TIME', settings.GATEWAY_IDLE),
    lifetime: valueOr('TIME', settings.GATEWAY_LIFETIME),
    ports: valueOr('PORTS', settings.GATEWAY_PORTS),
    'strict-connect': flag('Answers CONNECT only after a proxy has.'),
    quiet: flag('Prints nothing.', 'q'),
  },

  async run({ options, runtime, env, terminal }) {
    const config = parseConfig(env);
    const allowPrivate = options['allow-private'] || config.PROXY_ALLOW_PRIVATE;
    const own = new Set(ownAddresses());
    const { list: paths, input: format, protocol: protocols } = options;
    const { upstreams, leftOut } = await readUpstreams({ paths, format, protocols, allowPrivate }, own);
    const say = (sentence: string) => options.quiet || terminal.say(`picpool: ${sentence}`);

    const monotonic = () => performance.now();
    const admit = createAdmit({
      isOpen: () => true,
      verify: async () => null,
      limiter: createLocalRateLimiter(),
      connections: CONNECTIONS,
      sessions: new Sessions(monotonic),
      names: { sites: sitesByName(config.PROXY_TARGETS ?? []), sources: new Map() },
    });
    const gateway = await startGateway({
      tcp: dialByName(await runtime.tcp(), {
        isRefused: (place) => isRefused(place, { allowPrivate, own }),
        context: lazySecureContext(await readAuthority(options['judge-ca'] ?? config.PROXY_JUDGE_CA)),
      }),
      testimony: createTestimony({ random: Math.random, monotonic }),
      hostname: '127.0.0.1',
      port: options.port,
      rules: { ports: options.ports, allowPrivate, own },
      tries: options.tries,
      timeoutMs: options.timeout,
      idleMs: options.idle,
      lifetimeMs: options.lifetime,
      connections: CONNECTIONS,
      strict: options['strict-connect'],
      retry: config.GATEWAY_RETRY,
      random: Math.random,
      monotonic,
      meter: createMeter(createMetrics()),
      onFailure: () => {},
      admit,
    }).catch((error: unknown) => {
      throw new CommandError(withCause(error));
    });
    for (const upstream of upstreams.values()) gateway.engine.set(upstream);
    const place = `http://127.0.0.1:${gateway.port} and socks5h://127.0.0.1:${gateway.port}`;
    say([`${place}, ${countOf(upstreams.size, 'proxy', 'proxies')}`, ...leftOut].join('; '));

    await endingSignal();
    await within(config.SHUTDOWN_GRACE, gateway.drain()).catch(() => {});
    gateway.stop();
    const { requests, served } = gateway.meter.summary();
    say(`${formatCount(served)} of ${countOf(requests, 'request')} answered`);
    return EXIT.done;
  },
});

/** Returns the entries that may be dialled, each once, whatever protocols they are listed with. */
async function readUpstreams(
  options: InputOptions,
  own: ReadonlySet<string>,
): Promise<{ upstreams: Map<string, Upstream>; leftOut: string[] }> {
  if (options.paths.length === 0) throw usageError('Name a list: --list FILE.');
  const source = await openCandidates(options);
  const upstreams = new Map<string, Upstream>();
  let refused = 0;
  for await (const endpoint of source.candidates()) {
    // A name is judged by its addresses, at each dial.
    if (!isHostName(endpoint.ip) && isRefused(endpoint, { allowPrivate: options.allowPrivate, own })) {
      refused++;
      continue;
    }
    const upstream = unknownUpstream(endpoint);
    const known = upstreams.get(upstream.key);
    if (!known) upstreams.set(upstream.key, upstream);
    else known.carries.plain ||= upstream.carries.plain;
  }
  const leftOut = source.leftOut();
  if (refused > 0)
    leftOut.push(
      `${countOf(refused, 'entry has', 'entries have')} a port or an address that is never dialled`,
    );
  if (upstreams.size === 0) {
    throw new CommandError(`${['There are no proxies in the list', ...leftOut].join('; ')}.`);
  }
  return { upstreams, leftOut };
}
