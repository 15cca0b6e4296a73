import { get } from 'node:http';
import { parseConfig } from '../config.ts';
import { bracketed } from '../lib/address.ts';
import { ownAddress, socketPath } from '../start/listen.ts';
import { defineCommand } from './command.ts';
import { EXIT } from './exit.ts';

/** Longer than the 3 s that the server gives its stores. */
const TIMEOUT_MS = 5000;

export const command = defineCommand({
  about: `Checks whether the local server with these settings is ready. Made for health checks in containers without a
shell or curl. Exit code 0: it is ready; 1: it is not, and standard error says why.`,
  options: {},

  async run({ env, terminal }) {
    const { HOST, PORT } = parseConfig(env);
    const socket = socketPath(HOST);
    const url = `http://${bracketed(ownAddress(HOST))}:${PORT}/readyz`;
    const name = socket === null ? url : HOST;
    try {
      const status = await statusOf(socket === null ? url : 'http://localhost/readyz', socket);
      if (status === 200) return EXIT.done;
      terminal.say(`picpool: ${name} answered ${status}.`);
    } catch (error) {
      terminal.say(`picpool: ${name} does not respond: ${error instanceof Error ? error.message : error}`);
    }
    return EXIT.failed;
  },
});

/** Avoids fetch, which would use the proxy from the environment. */
function statusOf(url: string, socketPath: string | null): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { signal: AbortSignal.timeout(TIMEOUT_MS), ...(socketPath !== null && { socketPath }) };
    const asked = get(url, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject);
  });
}
