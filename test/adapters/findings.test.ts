import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openRedis } from '../../adapters/redis/connection.ts';
import { redisFindings } from '../../adapters/redis/findings.ts';
import { createClient } from '../../adapters/s3/client.ts';
import { bucketFindings } from '../../adapters/s3/findings.ts';
import { parseS3Url } from '../../adapters/s3/url.ts';
import { absent } from '../support/absent.ts';
import { shared } from '../support/shared.ts';
import { withLifecycleRules } from '../support/stores/lifecycle-rules.ts';
import { createS3User } from '../support/stores/s3-user.ts';
import {
  command,
  S3_CREDENTIALS,
  type Service,
  startRedis,
  startS3,
  until,
} from '../support/stores/services.ts';

describe.skipIf(absent('redis-server'))('a Redis server', () => {
  let server: Service;
  let other: Service;
  beforeAll(async () => {
    [server, other] = await Promise.all([startRedis(), startRedis()]);
  });
  afterAll(() => Promise.all([server?.stop(), other?.stop()]));

  const portOf = ({ url }: Service) => Number(new URL(url).port);
  const set = (name: string, value: string) => command(portOf(server), 'CONFIG', 'SET', name, value);

  async function findings(url = server.url): Promise<string[]> {
    const redis = await openRedis(url);
    const found = await redisFindings(redis).finally(() => redis.close());
    return found.map(({ level, text }) => `${level}: ${text}`);
  }

  test('that syncs its log and evicts nothing loses nothing', async () => {
    expect(await findings()).toEqual([]);
    await set('appendfsync', 'everysec');
    expect(await findings()).toEqual([]);
  });

  test('that may lose records is reported, setting by setting', async () => {
    await set('appendfsync', 'no');
    expect(await findings()).toEqual([
      'warn: Redis lets the system decide when records reach the disk (appendfsync no).',
    ]);
    await set('appendonly', 'no');
    expect(await findings()).toEqual(['warn: Redis keeps nothing on its disk: a restart loses all records.']);
    await set('save', '"60 1"');
    expect(await findings()).toEqual([
      'warn: Redis keeps no log of changes (appendonly no): a crash loses the records since its last snapshot.',
    ]);
    await set('maxmemory-policy', 'allkeys-lru');
    expect((await findings()).slice(1)).toEqual([
      'warn: Redis removes records when its memory is full (maxmemory-policy allkeys-lru).',
    ]);
    await set('maxmemory-policy', 'volatile-ttl');
    expect((await findings()).slice(1)).toEqual([
      'warn: Redis removes locks and limits when its memory is full (maxmemory-policy volatile-ttl).',
    ]);
    await set('maxmemory-policy', 'noeviction');
    await set('appendonly', 'yes');
    await set('appendfsync', 'always');
    expect(await findings()).toEqual([]);
  });

  test('that hides its settings from the user of picpool is reported', async () => {
    await command(
      portOf(server),
      'ACL',
      'SETUSER',
      'pic',
      'on',
      '>pool',
      '~*',
      '+@all',
      '-@dangerous',
      '+info',
    );
    expect(await findings(server.url.replace('//', '//pic:pool@'))).toEqual([
      'unknown: This user may not read how often Redis syncs its log.',
    ]);
  });

  test('that is a replica cannot be used', async () => {
    await command(portOf(server), 'REPLICAOF', '127.0.0.1', String(portOf(other)));
    await until(async () =>
      (await findings()).some((text) => text.startsWith('fail: The Redis server is a replica of 127.0.0.1:')),
    );
    await command(portOf(server), 'REPLICAOF', 'NO', 'ONE');
  });
});

describe.skipIf(absent('versitygw'))('a bucket', () => {
  const s3 = shared(startS3);

  async function findings(url = s3.url, credentials = S3_CREDENTIALS): Promise<string[]> {
    const address = parseS3Url(url);
    const client = createClient(address, credentials);
    const found = await bucketFindings(client, address).finally(() => client.destroy());
    return found.map(({ level, text }) => `${level}: ${text}`);
  }

  test('that is missing is reported; a writable one is not, and nothing stays in it', async () => {
    expect(await findings()).toEqual([]);
    expect(await Array.fromAsync(new Bun.Glob('**').scan(s3.folder))).toEqual([]);
    expect(await findings(s3.url.replace('bucket', 'missing'))).toEqual([
      'fail: There is no bucket missing.',
    ]);
  });

  test('that is read-only, or that forbids removal, is reported', async () => {
    const allowed = (Action: string[]) =>
      createS3User(s3, {
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Action, Resource: ['arn:aws:s3:::bucket', 'arn:aws:s3:::bucket/*'] }],
      });
    const reader = await allowed(['s3:GetObject', 's3:ListBucket']);
    expect(await findings(s3.url, reader)).toContain('fail: Files of the bucket bucket cannot be written.');
    const writer = await allowed(['s3:GetObject', 's3:ListBucket', 's3:PutObject']);
    expect(await findings(s3.url, writer)).toContain('fail: Files of the bucket bucket cannot be removed.');
    // No right helps against a wrong secret, which is reported elsewhere.
    const wrong = findings(s3.url, { ...S3_CREDENTIALS, secretAccessKey: 'wrong' });
    await expect(wrong).rejects.toMatchObject({ cause: { name: 'SignatureDoesNotMatch' } });
  });

  test('whose lifecycle rules remove or archive images is reported with the rule', async () => {
    const rule = (id: string, filter: string, action: string, status = 'Enabled') =>
      `<Rule><ID>${id}</ID>${filter}<Status>${status}</Status>${action}</Rule>`;
    const [all, days] = ['<Filter><Prefix></Prefix></Filter>', '<Expiration><Days>30</Days></Expiration>'];
    const tagged = '<Filter><Tag><Key>old</Key><Value>yes</Value></Tag></Filter>';
    const parts =
      '<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>';
    const versions =
      '<NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays></NoncurrentVersionExpiration>';
    const frozen = '<Transition><Days>30</Days><StorageClass>GLACIER</StorageClass></Transition>';
    const colder = '<Transition><Days>30</Days><StorageClass>STANDARD_IA</StorageClass></Transition>';
    let rules: string[] | null = null;
    const door = withLifecycleRules(s3.endpoint, () => rules?.join('') ?? null);
    const url = (prefix: string) =>
      s3.url.replace(s3.endpoint, door.endpoint).replace('bucket?', `bucket${prefix}?`);
    const found = (which: string[] | null, prefix = '') => {
      rules = which;
      return findings(url(prefix));
    };
    try {
      expect(await found(null)).toEqual([]);
      expect(
        await found([
          rule('a', all, days, 'Disabled'),
          rule('b', tagged, days),
          rule('c', all, parts),
          rule('d', all, versions),
          rule('e', all, colder),
        ]),
      ).toEqual([]);
      expect(await found([rule('monthly', all, days), rule('cold', all, frozen)])).toEqual([
        'warn: The lifecycle rule monthly of the bucket bucket removes images.',
        'warn: The lifecycle rule cold of the bucket bucket moves images to where they cannot be read.',
      ]);
      const logs = rule('logs', '<Filter><Prefix>logs/</Prefix></Filter>', days);
      expect(await found([logs], '/pictures')).toEqual([]);
      expect(await found([logs], '/logs/pictures')).toHaveLength(1);
      expect(await found([logs])).toHaveLength(1);
      expect(await found([rule('old form', '<Prefix>pic</Prefix>', days)], '/pictures')).toHaveLength(1);
    } finally {
      door.stop();
    }
  });
});
