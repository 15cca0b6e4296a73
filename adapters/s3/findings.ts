import {
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  HeadBucketCommand,
  type LifecycleRule,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { type Finding, fail, unknown, warn } from '../../src/findings/finding.ts';
import { limited } from './client.ts';
import { isRefused, statusOf } from './errors.ts';
import type { S3Address } from './url.ts';

/** Name of the object that tests whether writing is possible. */
const PROBE = 'picpool-probe';

/** Classes whose objects must be restored before they can be read. */
const FROZEN = ['GLACIER', 'DEEP_ARCHIVE'];

/** Returns what keeps files from being stored in the bucket, or removes them. */
export async function bucketFindings(client: S3Client, address: S3Address): Promise<Finding[]> {
  const { bucket } = address;
  const status = await statusFrom((limits) => client.send(new HeadBucketCommand({ Bucket: bucket }), limits));
  if (status === 404)
    return [fail(`There is no bucket ${bucket}.`, 'Create it, or name another one in BLOBS_URL.')];
  return [...(await writeFindings(client, address)), ...(await lifecycleFindings(client, address))];
}

async function writeFindings(client: S3Client, { bucket, prefix }: S3Address): Promise<Finding[]> {
  const target = { Bucket: bucket, Key: `${prefix}${PROBE}` };
  const put = new PutObjectCommand({ ...target, Body: 'written to see whether it can be' });
  const refusal = (right: string, what: string) =>
    fail(
      `Files of the bucket ${bucket} cannot be ${what}.`,
      `Allow ${right} on ${bucket}/${prefix}*; docs/stores.md has the policy.`,
    );
  if ((await statusFrom((limits) => client.send(put, limits))) === 403)
    return [refusal('s3:PutObject', 'written')];
  const removal = await statusFrom((limits) => client.send(new DeleteObjectCommand(target), limits));
  return removal === 403 ? [refusal('s3:DeleteObject', 'removed')] : [];
}

/** Returns 0 for success, otherwise the status. Rejects if there was no answer, or it is about more than this call. */
async function statusFrom(call: Parameters<typeof limited>[1]): Promise<number> {
  let status = 0;
  await limited(0, (limits) =>
    call(limits).catch((error: unknown) => {
      status = statusOf(error);
      if (status < 400 || status >= 500 || (status === 403 && !isRefused(error))) throw error;
    }),
  );
  return status;
}

async function lifecycleFindings(client: S3Client, { bucket, prefix }: S3Address): Promise<Finding[]> {
  const command = new GetBucketLifecycleConfigurationCommand({ Bucket: bucket });
  let status = 0;
  const { Rules = [] } = await limited(0, (limits) =>
    client.send(command, limits).catch((error: unknown) => {
      status = statusOf(error);
      if (status === 0) throw error;
      return { Rules: [] };
    }),
  );
  if (status === 403) {
    const text = `The server may not read the lifecycle rules of the bucket ${bucket}, which could remove images.`;
    return [unknown(text, 'Allow s3:GetLifecycleConfiguration on the bucket.')];
  }
  return Rules.filter((rule) => appliesTo(rule, prefix)).flatMap((rule) => {
    const harm = harmOf(rule);
    if (harm === null) return [];
    const name = rule.ID ? ` ${rule.ID}` : '';
    const text = `The lifecycle rule${name} of the bucket ${bucket} ${harm}.`;
    return [warn(text, 'Remove the rule, or exclude the prefix of BLOBS_URL from it.')];
  });
}

/** picpool's objects have no tags, so a rule that requires a tag does not apply to them. */
function appliesTo({ Status, Filter, Prefix }: LifecycleRule, prefix: string): boolean {
  if (Status !== 'Enabled' || Filter?.Tag || (Filter?.And?.Tags ?? []).length > 0) return false;
  const begins = Filter?.Prefix ?? Filter?.And?.Prefix ?? Prefix ?? '';
  return begins.startsWith(prefix) || prefix.startsWith(begins);
}

function harmOf({ Expiration, Transitions = [] }: LifecycleRule): string | null {
  if (Expiration?.Days || Expiration?.Date) return 'removes images';
  const frozen = Transitions.some(({ StorageClass = '' }) => FROZEN.includes(StorageClass));
  return frozen ? 'moves images to where they cannot be read' : null;
}
