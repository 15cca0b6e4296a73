import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createS3Blobs } from '../../adapters/s3/blobs.ts';
import { absent } from '../support/absent.ts';
import { ADMIN, ADMIN_TOKEN } from '../support/admin.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { withServer } from '../support/servers/running-server.ts';
import { LIGHT, logInto, type RuntimeName, startServer } from '../support/servers/server-process.ts';
import { startInstanceMetadata, startTokenService } from '../support/stores/aws-surroundings.ts';
import { createBucket, createS3User, documentedPolicy } from '../support/stores/s3-user.ts';
import { S3_ACCESS, S3_CREDENTIALS, startS3, until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

setDefaultTimeout(180_000);

const withoutS3 = absent('versitygw');
/** No files of the user's, and no metadata of the machine that the tests run on. */
const BARE = {
  HOME: '/nonexistent',
  AWS_EC2_METADATA_DISABLED: 'true',
  SERVICES: 'image',
  ...LIGHT,
};

let s3: Awaited<ReturnType<typeof startS3>>;
beforeAll(async () => {
  if (!withoutS3) s3 = await startS3();
});
afterAll(() => s3?.stop());

/** Gives credentials to containers, as ECS and EKS do, where they bring the token. */
function startContainerEndpoint(token: string) {
  let asked = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      if (request.headers.get('authorization') !== token) return new Response('who?', { status: 401 });
      asked++;
      return Response.json({
        AccessKeyId: S3_CREDENTIALS.accessKeyId,
        SecretAccessKey: S3_CREDENTIALS.secretAccessKey,
        // versitygw knows no sessions, and an empty token is not sent.
        Token: '',
        Expiration: new Date(Date.now() + 3_600_000).toISOString(),
      });
    },
  });
  return { url: `${server.url}credentials`, asked: () => asked, stop: () => server.stop(true) };
}

async function upload(url: string): Promise<string> {
  const body = new Uint8Array(await photo(60, 40));
  const answer = await fetch(`${url}/api/upload`, { method: 'POST', body });
  expect(answer.status).toBe(201);
  return String((await json(answer)).id);
}

for (const runtime of ['bun', 'deno'] as const) {
  test.skipIf(withoutS3)(`without keys, the container gives credentials on ${runtime}`, async () => {
    const container = startContainerEndpoint('token-of-the-pod');
    const server = await startServer(runtime, {
      ...BARE,
      BLOBS_URL: s3.url.replace('//bucket', `//bucket/${runtime}`),
      AWS_CONTAINER_CREDENTIALS_FULL_URI: container.url,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'token-of-the-pod',
    });
    try {
      const id = await upload(server.url);
      expect((await fetch(`${server.url}/i/${id}.webp`)).status).toBe(200);
      // Once for the files, and once to look at the bucket.
      await until(() => container.asked() === 2);
    } finally {
      await server.stop();
      container.stop();
    }
  });
}

/** Uploads to a server in these surroundings, and reads back. */
async function storesAndReads(runtime: RuntimeName, name: string, env: Record<string, string>) {
  const BLOBS_URL = s3.url.replace('//bucket', `//bucket/${name}-${runtime}`);
  const server = await startServer(runtime, { ...BARE, BLOBS_URL, ...env });
  try {
    const id = await upload(server.url);
    expect((await fetch(`${server.url}/i/${id}.webp`)).status).toBe(200);
  } finally {
    await server.stop();
  }
}

test.skipIf(withoutS3)('without keys, the role of the instance or of the pod gives credentials', async () => {
  const instance = startInstanceMetadata();
  const role = 'arn:aws:iam::123456789012:role/picpool';
  const tokens = startTokenService(role, 'token-of-the-pod');
  await withFolder(async (folder) => {
    const file = join(folder, 'token');
    await writeFile(file, 'token-of-the-pod');
    const ofInstance = { AWS_EC2_METADATA_DISABLED: '', AWS_EC2_METADATA_SERVICE_ENDPOINT: instance.url };
    const ofPod = {
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: role,
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_STS: tokens.url,
    };
    await Promise.all([
      storesAndReads('bun', 'instance', ofInstance),
      storesAndReads('bun', 'pod', ofPod),
      storesAndReads('deno', 'pod', ofPod),
    ]);
    // Each copy asks once for the files, and once to look at the bucket.
    expect(instance.given()).toBeLessThanOrEqual(2);
    expect(tokens.given()).toBeLessThanOrEqual(4);
  });
  await Promise.all([instance.stop(), tokens.stop()]);
});

test.skipIf(withoutS3)('the policy of the handbook is all that is needed', async () => {
  const url = s3.url.replace('//bucket', '//own-bucket/pictures');
  await createBucket(url);
  const user = await createS3User({ ...s3, url }, await documentedPolicy('own-bucket', 'pictures'));
  await withServer(
    {
      ...BARE,
      BLOBS_URL: url,
      AWS_ACCESS_KEY_ID: user.accessKeyId,
      AWS_SECRET_ACCESS_KEY: user.secretAccessKey,
      ADMIN_TOKEN,
    },
    async ({ send, upload }) => {
      const { id, delete_token } = await json<Record<string, string>>(await upload());
      expect((await send(`/i/${id}.webp`)).status).toBe(200);
      expect(await json(await send('/readyz'))).toEqual({ success: true, status: 'ready' });
      const swept = await send('/api/cleanup', { method: 'POST', headers: ADMIN });
      expect([swept.status, await json(swept)]).toEqual([200, expect.objectContaining({ success: true })]);
      const gone = await send(`/api/delete/${id}?token=${delete_token}`, { method: 'DELETE' });
      expect(gone.status).toBe(200);
    },
  );
  // Files above 8 MiB go in parts, and one that breaks off is taken back.
  await withFolder(async (folder) => {
    const path = join(folder, 'large');
    await writeFile(path, new Uint8Array(9 * 1024 * 1024));
    const blobs = createS3Blobs(url, user);
    await blobs.put('large.png', path, 'image/png');
    expect((await blobs.stat('large.png'))?.size).toBe(9 * 1024 * 1024);
    await blobs.remove('large.png');
    expect(await blobs.get('large.png')).toBeNull();
    await writeFile(path, 'small');
    await blobs.put('small.png', path, 'image/png');
    expect(await blobs.move('small.png', 'stray/small.png')).toBe(true);
  });
});

test.skipIf(withoutS3)(
  'a 403 for lack of a right does not count as a missing file, and the message says which right may be missing',
  async () => {
    const policy = await documentedPolicy('bucket', 'pictures');
    const Statement = policy.Statement.map((one) => ({
      ...one,
      Action: [one.Action].flat().filter((action) => action !== 's3:GetObject'),
    }));
    const blobs = createS3Blobs(
      s3.url.replace('//bucket', '//bucket/pictures'),
      await createS3User(s3, { ...policy, Statement }),
    );
    const asked = await blobs.get('absent.png').then(
      () => null,
      (error: { code: string; cause: Error }) => [error.code, error.cause.message],
    );
    expect(asked).toEqual(['unavailable', expect.stringMatching(/s3:GetObject.* may be missing/)]);
  },
);

test.skipIf(withoutS3)('keys of the settings come before the surroundings', async () => {
  const container = startContainerEndpoint('token-of-the-pod');
  const server = await startServer('bun', {
    ...BARE,
    BLOBS_URL: s3.url.replace('//bucket', '//bucket/set'),
    ...S3_ACCESS,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: container.url,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'token-of-the-pod',
  });
  try {
    await upload(server.url);
    expect(container.asked()).toBe(0);
  } finally {
    await server.stop();
    container.stop();
  }
});

test('a session token is sent and signed', async () => {
  const seen: Headers[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ headers }) {
      seen.push(headers);
      return new Response(null, { status: 404 });
    },
  });
  const url = `s3://bucket?endpoint=${server.url.origin}`;
  const blobs = createS3Blobs(url, { ...S3_CREDENTIALS, sessionToken: 'a-session-token' });
  expect(await blobs.stat('none.png')).toBeNull();
  expect(seen[0]?.get('x-amz-security-token')).toBe('a-session-token');
  expect(seen[0]?.get('authorization')).toMatch(/SignedHeaders=\S*x-amz-security-token/);
  await server.stop(true);
});

test('without credentials, the log says so and what to set', async () => {
  await withFolder(async (folder) => {
    const log = join(folder, 'log');
    const BLOBS_URL = 's3://bucket?endpoint=http://127.0.0.1:9';
    const server = await startServer('bun', { ...BARE, BLOBS_URL }, undefined, logInto(log));
    // Its signal handlers stand once it has answered.
    await fetch(`${server.url}/readyz`);
    await server.stop();
    expect(await readFile(log, 'utf8')).toContain('there are no credentials for S3: AWS_ACCESS_KEY_ID and');
  });
});
