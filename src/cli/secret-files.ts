import { createReadStream } from 'node:fs';
import { type Environment, parseConfig, SECRETS } from '../config.ts';
import { ConfigError, type ConfigFault } from '../errors.ts';

/** Longer than any secret. A longer file was given by mistake. */
const MAX_BYTES = 64 * 1024;

/**
 * Returns the environment with each secret from a file that `NAME_FILE` names, as `NAME`. If a file cannot be read,
 * the server must not start without the protection that it was meant to have.
 * @throws {ConfigError} with these faults and those of other settings.
 */
export async function withSecretFiles(env: Environment): Promise<Environment> {
  const read: Record<string, string> = {};
  const faults: ConfigFault[] = [];
  for (const name of SECRETS) {
    const variable = `${name}_FILE`;
    const path = env[variable]?.trim();
    if (!path) continue;
    try {
      if (env[name]?.trim()) throw new Error(`must not be set where ${name} is`);
      read[name] = await readSecret(path);
    } catch (error) {
      faults.push({ variable, message: error instanceof Error ? error.message : String(error) });
    }
  }
  if (faults.length === 0) return { ...env, ...read };
  throw new ConfigError([...faults, ...otherFaults({ ...env, ...read }, faults)]);
}

/** Returns the text of a small file, trimmed. Rejects with what the file has to be. */
export async function readSecret(path: string): Promise<string> {
  const stream: AsyncIterable<Buffer> = createReadStream(path);
  let bytes = Buffer.alloc(0);
  try {
    // A pipe gives them piece by piece.
    for await (const piece of stream) {
      bytes = Buffer.concat([bytes, piece]);
      if (bytes.length > MAX_BYTES) break;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`must name a file that can be read, but ${path} cannot (${code})`);
  }
  if (bytes.length > MAX_BYTES) throw new Error(`must name a file of at most ${MAX_BYTES} bytes`);
  const text = bytes.toString().trim();
  if (text === '') throw new Error(`must name a file with a secret, but ${path} is empty`);
  return text;
}

/** Returns the other faults, without those that follow from an unreadable secret. */
function otherFaults(env: Environment, known: readonly ConfigFault[]): readonly ConfigFault[] {
  try {
    parseConfig(env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.filter(
      ({ variable }) => !known.some((fault) => fault.variable === `${variable}_FILE`),
    );
  }
}
