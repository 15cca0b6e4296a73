import { type Fence, outdated } from '../../src/lib/locks.ts';

/** Returned by a script that was refused. */
const REFUSED = 'outdated';

/**
 * Lua for scripts of background jobs: ARGV begins with the name and the token of the fence, both empty without one.
 * `key`: the largest tokens by name. Tokens have up to 16 digits, which a Lua number holds exactly.
 */
export const fenced = (key: string) => `
if ARGV[1] ~= '' then
  local seen = tonumber(redis.call('HGET', ${key}, ARGV[1]) or 0)
  if seen > tonumber(ARGV[2]) then return '${REFUSED}' end
  if seen < tonumber(ARGV[2]) then redis.call('HSET', ${key}, ARGV[1], ARGV[2]) end
end`;

/** Returns the first arguments of such a script. */
export function fenceArgs(fence: Fence | undefined): [string, string | number] {
  return fence ? [fence.name, fence.token] : ['', ''];
}

/**
 * Returns the answer of such a script.
 * @throws {AppError} `conflict` if it was refused.
 */
export function unfenced(answer: unknown): unknown {
  if (answer === REFUSED) throw outdated();
  return answer;
}
