import { createHmac, timingSafeEqual } from 'node:crypto';

/** Query parameter with the token of a check. Common clients use this name to bypass caches. */
export const TOKEN_PARAMETER = '_';

/** The same parameter for people who try our judge. */
const PLAIN_PARAMETER = 'token';

/** The form of a token. A judge echoes nothing else. */
const TOKEN = /^[\w-]{1,128}$/;

/** Together these limits keep an answer below the 16 KB that a checker reads, even if everything is escaped. */
const MAX_HEADERS = 32;
const MAX_NAME_LENGTH = 64;
const MAX_VALUE_LENGTH = 200;

/** Credentials are never needed to prove a proxy. */
const SECRET_HEADERS = new Set(['authorization', 'cookie']);

/** What a judge shows of the request that reached it. */
interface JudgeAnswer {
  /** The request's `token`; empty if it had none or a malformed one. */
  token: string;
  /** Address of the client as the judge sees it. */
  address: string;
  /** Request headers, names in lower case. */
  headers: Record<string, string>;
  /**
   * Present if the judge has a secret. Shows holders of the secret that nobody on the way forged or changed
   * the answer.
   */
  proof?: string;
}

interface JudgeRequest {
  url: URL;
  headers: Headers;
  /** Canonical address of the client. */
  peer: string;
  /** Shared with the checkers that should recognise this judge's answers; see `proofOf`. */
  secret?: string | undefined;
}

/** Answers one request to our own judge. The response must carry `Cache-Control: no-store`. */
export function judgeAnswer({ url, headers, peer, secret }: JudgeRequest): JudgeAnswer {
  const { searchParams } = url;
  const token = searchParams.get(TOKEN_PARAMETER) ?? searchParams.get(PLAIN_PARAMETER) ?? '';
  const shown: Record<string, string> = {};
  let count = 0;
  for (const [name, value] of headers) {
    if (SECRET_HEADERS.has(name) || name.length > MAX_NAME_LENGTH) continue;
    if (++count > MAX_HEADERS) break;
    shown[name] = value.slice(0, MAX_VALUE_LENGTH);
  }
  const answer: JudgeAnswer = { token: TOKEN.test(token) ? token : '', address: peer, headers: shown };
  return secret === undefined ? answer : { ...answer, proof: proofOf(answer, secret) };
}

/** Returns an HMAC over the whole answer. It exposes a proxy that copies the token into its own answer. */
export function proofOf({ token, address, headers }: JudgeAnswer, secret: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([token, address, headers]))
    .digest('base64url');
}

/** Reports whether the answer's proof was made with one of the secrets. */
export function isProven(answer: JudgeAnswer, secrets: readonly string[]): boolean {
  const given = Buffer.from(answer.proof ?? '');
  return secrets.some((secret) => {
    const right = Buffer.from(proofOf(answer, secret));
    return given.length === right.length && timingSafeEqual(given, right);
  });
}
