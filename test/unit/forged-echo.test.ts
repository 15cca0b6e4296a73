import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createServer, type RequestListener, type Server } from 'node:http';
import { judgeAnswer } from '../../src/proxy/check/judge.ts';
import type { Endpoint } from '../../src/proxy/proxy.ts';
import { localChecker } from '../support/farm/checkers.ts';
import { type Farm, startFarm } from '../support/farm/farm.ts';
import { listening } from '../support/servers/listening.ts';
import { until } from '../support/stores/services.ts';

const FORGER = '127.66.0.1';
let farm: Farm;
let judge: Server;
let judgePort: number;
let forger: Server;
let forgerPort: number;
let isSilent = false;
let silenced = 0;

/** The page of a judge, made up from nothing but the request. */
const page: RequestListener = ({ url = '/', headers, socket }, response) => {
  const asked = {
    url: new URL(url, 'http://judge'),
    headers: new Headers(headers as Record<string, string>),
  };
  response.end(JSON.stringify(judgeAnswer({ ...asked, peer: socket.localAddress ?? '' })));
};

beforeAll(async () => {
  farm = await startFarm();
  judge = createServer((request, response) => {
    if (isSilent) silenced++;
    else page(request, response);
  });
  judgePort = await listening(judge);
  forger = createServer(page);
  forgerPort = await listening(forger, FORGER);
});
afterAll(async () => {
  for (const server of [judge, forger]) {
    server.close();
    server.closeAllConnections();
  }
  await farm.stop();
});

test('a page that a proxy made up does not show that the judge works', async () => {
  const checker = localChecker({ judges: [`http://127.0.0.1:${judgePort}/`], timeoutMs: 1500 });
  const forging: Endpoint = { protocol: 'http', ip: FORGER, port: forgerPort };
  expect(await checker.check(farm.endpoint('http'))).toMatchObject({ verdict: 'alive' });
  isSilent = true;
  const honest = checker.check(farm.endpoint('http', 1));
  await until(() => silenced > 0);
  // In the half of the time in which a judge that works would have answered.
  await new Promise((done) => setTimeout(done, 900));
  expect(await checker.check(forging)).toMatchObject({ verdict: 'alive', proof: 'echoed' });
  expect(await honest).toMatchObject({ verdict: 'unknown' });
  checker.close();
});
