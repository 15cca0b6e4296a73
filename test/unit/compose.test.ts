import { describe, expect, test } from 'bun:test';
import { parsePostgresUrl } from '../../adapters/postgres/url.ts';
import { parseConfig, settings } from '../../src/config.ts';
import { createNetworkList } from '../../src/lib/address.ts';
import { absent } from '../support/absent.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

/** A value of `null` is that of the shell, if it has one. */
type Environment = Record<string, string | null>;

interface Service extends Record<string, unknown> {
  image: string;
  environment?: Environment;
  depends_on?: Record<string, unknown> | string[];
  command?: string[];
  mem_limit?: string;
  tmpfs?: string[];
  cap_add?: string[];
  networks?: string[] | Record<string, { ipv4_address: string }>;
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string; ip_range: string }[] } }>;
  volumes: Record<string, unknown>;
}

const FILES = ['compose.yaml', 'compose.simple.yaml', 'compose.postgres.yaml'];
const composeFile = async (name: string) => Bun.YAML.parse(await Bun.file(name).text()) as Compose;
const { services, networks } = await composeFile('compose.yaml');
/** What the engine must be given; it refuses to start without. */
const SHELL = { AWS_SECRET_ACCESS_KEY: 'a secret', REDIS_PASSWORD: '0a1b' };

const copies = Object.keys(services).filter((name) => name.startsWith('picpool-'));

/** The environment as the engine makes it of a shell that sets only these. */
function substituted(shell: Record<string, string>, environment: Environment = {}) {
  const text = (value: string) =>
    value.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind = '', other = '') => {
      const given = shell[name];
      if (!given && kind === '?') throw new Error(`${name} is not set: ${other}`);
      return given || (kind === '-' ? other : '');
    });
  const values = Object.entries(environment).map(([name, value]) => [
    name,
    value === null ? shell[name] : text(value),
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

test('every variable of the copies is a setting, and together they are a valid configuration', () => {
  expect(copies).toEqual(['picpool-1', 'picpool-2']);
  for (const copy of copies) {
    const environment = services[copy]?.environment;
    for (const name of Object.keys(environment ?? {})) expect(Object.keys(settings)).toContain(name);
    const config = parseConfig(substituted(SHELL, environment));
    expect(config).toMatchObject({ METADATA_URL: 'redis://:0a1b@redis:6379', AWS_ACCESS_KEY_ID: 'picpool' });
    expect(config.PUBLIC_URL).toBeUndefined();
    for (const name of Object.keys(SHELL)) {
      expect(() => substituted({ ...SHELL, [name]: '' }, environment)).toThrow(`${name} is not set`);
    }
  }
});

test('the simple file is one service with one volume, with valid settings', async () => {
  const simple = await composeFile('compose.simple.yaml');
  expect([Object.keys(simple.services), Object.keys(simple.volumes)]).toEqual([['picpool'], ['data']]);
  const { environment } = simple.services.picpool ?? {};
  for (const name of Object.keys(environment ?? {})) expect(Object.keys(settings)).toContain(name);
  expect(parseConfig(substituted({}, environment)).METADATA_URL).toStartWith('sqlite:');
});

test('the file with Postgres differs only in the record store', async () => {
  const other = await composeFile('compose.postgres.yaml');
  const { postgres, ...rest } = other.services;
  const { redis: _, ...mine } = services;
  const comparable = (all: Compose['services']) =>
    Object.fromEntries(
      Object.entries(all).map(([name, { environment = {}, depends_on: _, ...service }]) => {
        const { METADATA_URL: __, ...own } = environment;
        return [name, { ...service, environment: own }];
      }),
    );
  expect(comparable(rest)).toEqual(comparable(mine));
  expect(other.networks).toEqual(networks);
  const shell = { AWS_SECRET_ACCESS_KEY: 'a secret', POSTGRES_PASSWORD: '0a1b' };
  for (const copy of copies) {
    const { METADATA_URL } = parseConfig(substituted(shell, other.services[copy]?.environment));
    expect(METADATA_URL).toBe('postgres://picpool:0a1b@postgres/picpool');
    expect(parsePostgresUrl(METADATA_URL)).toMatchObject({ user: 'picpool', database: 'picpool' });
  }
  expect(postgres?.networks).toEqual(['stores']);
  expect(substituted(shell, postgres?.environment)).toMatchObject({
    POSTGRES_USER: 'picpool',
    POSTGRES_PASSWORD: '0a1b',
  });
});

test('the copies trust only the balancer, whose address no other service or visitor gets', () => {
  const TRUSTED_PROXIES = services['picpool-1']?.environment?.TRUSTED_PROXIES ?? '';
  expect(services.balancer?.networks).toEqual({ inside: { ipv4_address: TRUSTED_PROXIES } });
  const [range] = networks.inside?.ipam?.config ?? [];
  expect(createNetworkList([range?.subnet ?? '']).has(TRUSTED_PROXIES)).toBe(true);
  expect(createNetworkList([range?.ip_range ?? '']).has(TRUSTED_PROXIES)).toBe(false);
  // The first address is the gateway's, under which an engine may show visitors.
  expect(TRUSTED_PROXIES).not.toBe('172.30.83.1');
});

test('stores are in a network without internet and without the balancer, and share the same keys', () => {
  const networksOf = (name: string) => {
    const own = services[name]?.networks ?? {};
    return Array.isArray(own) ? own : Object.keys(own);
  };
  expect(networks.stores?.internal).toBe(true);
  for (const store of ['redis', 's3']) expect(networksOf(store)).toEqual(['stores']);
  for (const copy of copies) expect(networksOf(copy)).toEqual(['inside', 'stores']);
  expect(networksOf('balancer')).toEqual(['inside']);
  const shell = { AWS_ACCESS_KEY_ID: 'a key', AWS_SECRET_ACCESS_KEY: 'a secret' };
  expect(substituted(shell, services.s3?.environment)).toEqual({
    ROOT_ACCESS_KEY: 'a key',
    ROOT_SECRET_KEY: 'a secret',
  });
});

test('every service that another one names exists, and the balancer uses all copies', async () => {
  for (const { depends_on = [] } of Object.values(services)) {
    const names = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
    for (const name of names) expect(Object.keys(services)).toContain(name);
  }
  const balancer = await Bun.file('examples/balancer.conf').text();
  const asked = [...balancer.matchAll(/^ *server ([\w-]+):3000 /gm)].map(([, name]) => name);
  expect(asked).toEqual(copies);
  expect(services['picpool-1']?.environment?.BLOBS_URL).toContain('endpoint=http://s3:7070');
});

test('Redis persists everything and evicts nothing', () => {
  const command = services.redis?.command?.at(-1);
  expect(command).toContain('--appendonly yes');
  expect(command).toContain('--maxmemory-policy noeviction');
});

test('no service but the balancer gets a right back', () => {
  const able = Object.entries(services).filter(([, { cap_add }]) => cap_add !== undefined);
  expect(able.map(([name]) => name)).toEqual(['balancer']);
});

test.skipIf(absent('redis-server'))('Redis wants the password, which its arguments do not show', () =>
  withFolder(async (folder) => {
    const [shell = '', flag = '', text = ''] = services.redis?.command ?? [];
    const socket = `${folder}/redis.sock`;
    const here = `redis-server - --port 0 --unixsocket ${socket} --dir ${folder}`;
    const command = text.replaceAll('$$', '$').replace('redis-server -', here);
    const env = { PATH: process.env.PATH ?? '', REDIS_PASSWORD: SHELL.REDIS_PASSWORD };
    const redis = Bun.spawn([shell, flag, command], { env, stdio: ['ignore', 'ignore', 'ignore'] });
    const ask = async (password: string) => {
      const args = [
        'redis-cli',
        '-s',
        socket,
        ...(password === '' ? [] : ['--no-auth-warning', '-a', password]),
        'ping',
      ];
      const asked = Bun.spawn(args, { stdio: ['ignore', 'pipe', 'ignore'] });
      return (await new Response(asked.stdout).text()).trim();
    };
    try {
      await until(async () => (await ask(SHELL.REDIS_PASSWORD)) === 'PONG');
      expect(await ask('')).toStartWith('NOAUTH');
      // The process that the engine stops is Redis itself: a shell in its place would not hand the signal on.
      const line = await Bun.file(`/proc/${redis.pid}/cmdline`).text();
      expect(line).toStartWith('redis-server');
      expect(line).not.toContain(SHELL.REDIS_PASSWORD);
    } finally {
      redis.kill();
      await redis.exited;
    }
  }),
);

test('every example gives the server the same memory', async () => {
  const limits = await Promise.all(
    FILES.map(async (file) => {
      const { services } = await composeFile(file);
      return Object.entries(services).flatMap(([name, { mem_limit }]) =>
        name.startsWith('picpool') ? [mem_limit] : [],
      );
    }),
  );
  expect([...new Set(limits.flat())]).toEqual(['2g']);
  expect(await Bun.file('examples/picpool.service').text()).toContain('\nMemoryMax=2G\n');
  expect(await Bun.file('examples/kubernetes/picpool.yaml').text()).toContain('limits: { memory: 2Gi,');
});

describe.each(FILES)('%s', (name) => {
  test('limits memory, rights and logs of every service', async () => {
    const { services } = await composeFile(name);
    for (const [service, given] of Object.entries(services)) {
      const { cap_drop, security_opt, logging, read_only } = given;
      expect([service, cap_drop, security_opt, read_only]).toEqual([
        service,
        ['ALL'],
        ['no-new-privileges:true'],
        true,
      ]);
      expect(given.mem_limit).toBeDefined();
      expect(logging).toEqual({ driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } });
    }
  });

  test('lets picpool answer what has begun, and asks it whether it is well', async () => {
    const { services } = await composeFile(name);
    const copies = Object.values(services).filter(({ image }) => image.startsWith('picpool:'));
    expect(copies.length).toBeGreaterThan(0);
    for (const { stop_grace_period, healthcheck } of copies) {
      expect(stop_grace_period).toBe('35s');
      expect(healthcheck).toMatchObject({ test: ['CMD', '/usr/local/bin/picpool', 'health'] });
    }
  });
});
