import { S3_CREDENTIALS } from './services.ts';

/** versitygw knows no sessions, and an empty token is not sent. */
const SESSION = '';

const soon = () => new Date(Date.now() + 3_600_000).toISOString();

/** A source of credentials, and how often it was used. */
function serve(answer: (request: Request, give: () => void) => Response | Promise<Response>) {
  let given = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => answer(request, () => given++),
  });
  return { url: server.url.origin, given: () => given, stop: () => server.stop(true) };
}

/** The metadata service of an EC2 instance with a role, version 2, which needs a session token. */
export function startInstanceMetadata() {
  const token = 'token-of-the-instance';
  const role = '/latest/meta-data/iam/security-credentials/';
  return serve((request, give) => {
    const { pathname } = new URL(request.url);
    if (request.method === 'PUT' && pathname === '/latest/api/token') return new Response(token);
    if (request.headers.get('x-aws-ec2-metadata-token') !== token)
      return new Response('who?', { status: 401 });
    if (pathname === role) return new Response('picpool-role');
    if (pathname !== `${role}picpool-role`) return new Response('none', { status: 404 });
    give();
    const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey } = S3_CREDENTIALS;
    return Response.json({
      Code: 'Success',
      Type: 'AWS-HMAC',
      LastUpdated: new Date().toISOString(),
      AccessKeyId,
      SecretAccessKey,
      Token: SESSION,
      Expiration: soon(),
    });
  });
}

/** The security token service, which gives a role to the holder of the pod's token, as on EKS. */
export function startTokenService(role: string, token: string) {
  return serve(async (request, give) => {
    const asked = new URLSearchParams(await request.text());
    const right =
      asked.get('Action') === 'AssumeRoleWithWebIdentity' &&
      asked.get('RoleArn') === role &&
      asked.get('WebIdentityToken') === token;
    if (!right) return new Response('who?', { status: 403 });
    give();
    return new Response(
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult>
<AssumedRoleUser><Arn>${role}/picpool</Arn><AssumedRoleId>id:picpool</AssumedRoleId></AssumedRoleUser>
<Credentials><AccessKeyId>${S3_CREDENTIALS.accessKeyId}</AccessKeyId>
<SecretAccessKey>${S3_CREDENTIALS.secretAccessKey}</SecretAccessKey>
<SessionToken>${SESSION}</SessionToken><Expiration>${soon()}</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>`,
      { headers: { 'content-type': 'text/xml' } },
    );
  });
}
