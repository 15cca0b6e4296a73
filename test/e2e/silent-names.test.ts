import { describe, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { startNameServer, withNameServers } from '../support/farm/name-server.ts';
import { json } from '../support/json.ts';
import { startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

/** Only root may give a process name servers of its own. */
const isRoot = process.getuid?.() === 0;
const folder = await sharedFolder();

describe.skipIf(!isRoot || absent('unshare'))('a name server that leaves questions without an answer', () => {
  test('holds up no file of the server', async () => {
    const names = await startNameServer('127.0.0.53');
    await writeFile(join(folder, 'resolv.conf'), `nameserver ${names.address}\noptions timeout:30\n`);
    const judges = Array.from({ length: 8 }, (_, index) => `http://judge-${index}.example/`);
    const env = { PROXY_JUDGES: judges.join(), PROXY_SOURCES: 'file:/dev/null' };
    const wrapper = withNameServers(join(folder, 'resolv.conf'));
    const server = await startServer('bun', env, join(folder, 'data'), wrapper);
    try {
      await until(() => names.unanswered() > 0);
      // The questions wait for half a minute.
      const answer = await fetch(`${server.url}/readyz`, { signal: AbortSignal.timeout(20_000) });
      expect(await json(answer)).toEqual({ success: true, status: 'ready' });
    } finally {
      // Its jobs wait for the names.
      server.kill('SIGKILL');
      await server.stop();
      names.close();
    }
  });
});
