import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, PutBucketPolicyCommand } from '@aws-sdk/client-s3';
import type { Credentials } from '../../../adapters/adapter.ts';
import { createClient } from '../../../adapters/s3/client.ts';
import { parseS3Url } from '../../../adapters/s3/url.ts';
import { run } from '../run.ts';
import { find, S3_CREDENTIALS } from './services.ts';

/** What a policy allows to whom it is given. */
export interface Policy {
  Version: string;
  Statement: { Effect: string; Action: string | string[]; Resource: string | string[] }[];
}

/** Makes the bucket of the URL. Of one that is but a folder, versitygw copies objects for its root alone. */
export async function createBucket(url: string): Promise<void> {
  const address = parseS3Url(url);
  const client = createClient(address, S3_CREDENTIALS);
  await client.send(new CreateBucketCommand({ Bucket: address.bucket }));
  client.destroy();
}

/** Makes a user of the server, who may do with the bucket of the URL what the policy says, and nothing else. */
export async function createS3User(
  server: { url: string; endpoint: string },
  policy: Policy,
): Promise<Credentials> {
  const program = await find('versitygw', 'versitygw, which scripts/services fetch gets');
  const user = {
    accessKeyId: `user-${randomBytes(6).toString('hex')}`,
    secretAccessKey: 'secret-of-the-user',
  };
  await run([
    program,
    ...['admin', '--access', S3_CREDENTIALS.accessKeyId, '--secret', S3_CREDENTIALS.secretAccessKey],
    ...['--endpoint-url', server.endpoint, 'create-user', '--role', 'user'],
    ...['--access', user.accessKeyId, '--secret', user.secretAccessKey],
  ]);
  const address = parseS3Url(server.url);
  const Statement = policy.Statement.map((statement) => ({
    ...statement,
    Principal: { AWS: [user.accessKeyId] },
  }));
  const client = createClient(address, S3_CREDENTIALS);
  const Policy = JSON.stringify({ ...policy, Statement });
  await client.send(new PutBucketPolicyCommand({ Bucket: address.bucket, Policy }));
  client.destroy();
  return user;
}

/** The policy that the operator's handbook gives, for this bucket and prefix. */
export async function documentedPolicy(bucket: string, prefix: string): Promise<Policy> {
  const text = await Bun.file('docs/stores.md').text();
  const [, json = ''] = /This policy is enough:\n\n```json\n([\s\S]*?)```/.exec(text) ?? [];
  return JSON.parse(json.replaceAll('BUCKET', bucket).replaceAll('PREFIX', prefix));
}
