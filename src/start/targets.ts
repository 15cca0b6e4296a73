import { createAsker } from '../proxy/targets/ask.ts';
import { createSites, type Sites } from '../proxy/targets/sites.ts';
import { createTargets, type Targets } from '../proxy/targets/targets.ts';
import { readAuthority } from './checker.ts';
import type { Parts } from './feature.ts';

interface TargetsParts extends Pick<Parts, 'config' | 'stores' | 'log'> {
  /** Returns false while our own network may be down, so that failures teach nothing. */
  mayAsk: () => boolean;
}

/** Opens what is known about which proxy reaches which site, and the probes that find it out. */
export async function openTargets({
  config,
  stores,
  log,
  mayAsk,
}: TargetsParts): Promise<{ sites: Sites; targets: Targets; stop(): Promise<void> }> {
  const sites = createSites({ random: Math.random, shared: true });
  const asker = createAsker({
    timeoutMs: config.PROXY_CHECK_TIMEOUT,
    ca: await readAuthority(config.PROXY_JUDGE_CA),
    monotonic: () => performance.now(),
  });
  const targets = createTargets({
    sites,
    named: config.PROXY_TARGETS ?? [],
    store: stores.proxies,
    state: stores.state,
    locks: stores.locks,
    ask: asker.ask,
    mayAsk,
    now: Date.now,
    onError: (error) => log('warn', 'results for targets not shared', { error }),
  });

  return {
    sites,
    targets,
    async stop() {
      await targets.stop();
      asker.close();
    },
  };
}
