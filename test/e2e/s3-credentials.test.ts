import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createS3Blobs } from '../../adapters/s3/blobs.ts';
import { absent } from '../support/absent.ts';
import { photo } from '../support/images.ts';
import { json } from '../support/json.ts';
import { logInto, startServer } from '../support/server-process.ts';
import { S3_CREDENTIALS, startS3 } from '../support/services.ts';
import { withFolder } from '../support/temporary.ts';

setDefaultTimeout(40_000);

const withoutS3 = absent('versitygw');
/** No files of the user's, and no metadata of the machine that the tests run on. */
const BARE = {
  HOME: '/nonexistent',
  AWS_EC2_METADATA_DISABLED: 'true',
  SERVICES: 'image',
  IMAGE_WORKERS: '1',
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
      expect(container.asked()).toBe(1);
    } finally {
      await server.stop();
      container.stop();
    }
  });
}

test.skipIf(withoutS3)('keys of the settings come before the surroundings', async () => {
  const container = startContainerEndpoint('token-of-the-pod');
  const server = await startServer('bun', {
    ...BARE,
    BLOBS_URL: s3.url.replace('//bucket', '//bucket/set'),
    AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
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
  blobs.close();
  await server.stop(true);
});

test('where nothing gives credentials, the log says so and what to set', async () => {
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
