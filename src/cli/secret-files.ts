import { open } from 'node:fs/promises';
import { type Environment, parseConfig, SECRETS } from '../config.ts';
import { ConfigError, type ConfigFault } from '../errors.ts';

/** No secret is longer; another file was meant. */
const MAX_BYTES = 64 * 1024;

/**
 * The environment with each secret that `NAME_FILE` names read from its file, as `NAME`. A file that cannot be read must not
 * leave a server open that was meant to be closed.
 * @throws {ConfigError} with these faults, and those of the other settings.
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

/** The text of a small file, without space around it. Rejects with what the file must be. */
export async function readSecret(path: string): Promise<string> {
  const file = await open(path).catch(({ code }: NodeJS.ErrnoException) => {
    throw new Error(`must name a file that can be read, but ${path} cannot (${code})`);
  });
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES + 1)).catch(({ code }) => {
      throw new Error(`must name a file that can be read, but ${path} cannot (${code})`);
    });
    if (bytesRead > MAX_BYTES) throw new Error(`must name a file of at most ${MAX_BYTES} bytes`);
    const text = buffer.toString('utf8', 0, bytesRead).trim();
    if (text === '') throw new Error(`must name a file with a secret, but ${path} is empty`);
    return text;
  } finally {
    await file.close();
  }
}

/** What is wrong besides, without what follows from a secret that could not be read. */
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
