import { json } from '../json.ts';
import { PNG } from './running-server.ts';
import { LIGHT, type ServerProcess } from './server-process.ts';

/** Settings of a server that looks for no proxies and refuses nobody. */
export const QUIET = {
  ...LIGHT,
  PROXY_JUDGES: 'http://127.0.0.1:9/',
  PROXY_SOURCES: 'file:/dev/null',
  RATE_LIMITS: 'off',
};

/** Sends a picture to a server, and returns the result. */
export async function upload({
  url,
}: Pick<ServerProcess, 'url'>): Promise<{ status: number; id: string; retryAfter: string | null }> {
  const answer = await fetch(`${url}/api/upload`, { method: 'POST', body: PNG });
  const { id = '' } = await json<{ id?: string }>(answer);
  return { status: answer.status, id, retryAfter: answer.headers.get('retry-after') };
}
