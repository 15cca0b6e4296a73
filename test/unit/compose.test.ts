import { expect, test } from 'bun:test';
import { parseConfig, settings } from '../../src/config.ts';
import { createNetworkList } from '../../src/lib/address.ts';

interface Service {
  environment?: Record<string, string>;
  depends_on?: Record<string, unknown> | string[];
  command?: string;
  cap_drop?: string[];
  security_opt?: string[];
  networks?: string[] | Record<string, { ipv4_address: string }>;
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { ipam: { config: { subnet: string; ip_range: string }[] } }>;
  volumes: Record<string, unknown>;
}

const { services, networks } = Bun.YAML.parse(await Bun.file('compose.yaml').text()) as Compose;
const copies = Object.keys(services).filter((name) => name.startsWith('picpool-'));

/** The environment as the engine makes it of a shell that sets only these. */
function substituted(shell: Record<string, string>, environment: Record<string, string> = {}) {
  const text = (value: string) =>
    value.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind = '', other = '') => {
      const given = shell[name];
      if (!given && kind === '?') throw new Error(`${name} is not set: ${other}`);
      return given || (kind === '-' ? other : '');
    });
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, text(value)]));
}

test('every variable of the copies is a setting, and together they are a valid configuration', () => {
  expect(copies).toEqual(['picpool-1', 'picpool-2']);
  for (const copy of copies) {
    const environment = services[copy]?.environment;
    for (const name of Object.keys(environment ?? {}))
      expect(Object.keys(settings.properties)).toContain(name);
    const config = parseConfig(substituted({ AWS_SECRET_ACCESS_KEY: 'a secret' }, environment));
    expect(config).toMatchObject({ METADATA_URL: 'redis://redis:6379', AWS_ACCESS_KEY_ID: 'picpool' });
    expect(config.PUBLIC_URL).toBeUndefined();
    expect(() => substituted({}, environment)).toThrow('AWS_SECRET_ACCESS_KEY is not set');
  }
});

test('the copies trust the balancer alone, whose address no other service and no visitor gets', () => {
  const { TRUSTED_PROXIES = '' } = services['picpool-1']?.environment ?? {};
  expect(services.balancer?.networks).toEqual({ inside: { ipv4_address: TRUSTED_PROXIES } });
  const [range] = networks.inside?.ipam.config ?? [];
  expect(createNetworkList([range?.subnet ?? '']).has(TRUSTED_PROXIES)).toBe(true);
  expect(createNetworkList([range?.ip_range ?? '']).has(TRUSTED_PROXIES)).toBe(false);
  // The first address is the gateway's, under which an engine may show visitors.
  expect(TRUSTED_PROXIES).not.toBe('172.30.83.1');
});

test('all services are in one network, and the store servers know the same keys', () => {
  for (const { networks: own } of Object.values(services)) {
    expect(Array.isArray(own) ? own : Object.keys(own ?? {})).toEqual(['inside']);
  }
  const shell = { AWS_ACCESS_KEY_ID: 'a key', AWS_SECRET_ACCESS_KEY: 'a secret' };
  expect(substituted(shell, services.s3?.environment)).toEqual({
    ROOT_ACCESS_KEY: 'a key',
    ROOT_SECRET_KEY: 'a secret',
  });
});

test('every service that another one names is there, and the balancer asks all copies', async () => {
  for (const { depends_on = [] } of Object.values(services)) {
    const names = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
    for (const name of names) expect(Object.keys(services)).toContain(name);
  }
  const balancer = await Bun.file('examples/balancer.conf').text();
  const asked = [...balancer.matchAll(/^ *server ([\w-]+):3000 /gm)].map(([, name]) => name);
  expect(asked).toEqual(copies);
  expect(services['picpool-1']?.environment?.BLOBS_URL).toContain('endpoint=http://s3:7070');
});

test('Redis writes everything down and forgets nothing', () => {
  expect(services.redis?.command).toContain('--appendonly yes');
  expect(services.redis?.command).toContain('--maxmemory-policy noeviction');
});

test('no service can gain privileges, and the copies have none', () => {
  for (const { security_opt } of Object.values(services))
    expect(security_opt).toEqual(['no-new-privileges:true']);
  for (const copy of copies) expect(services[copy]?.cap_drop).toEqual(['ALL']);
});
