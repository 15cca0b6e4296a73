import { createCertificates } from '../certificates.ts';
import { startFarm } from './farm.ts';
import { startJudge } from './judge-server.ts';

/** A farm and judges of both kinds as a process of their own, until their standard input ends. */
const certificates = await createCertificates();
const farm = await startFarm(certificates);
const judge = await startJudge();
const tlsJudge = await startJudge({ tls: certificates.good, host: 'localhost', format: 'address' });
const facts = { port: farm.port, judge: judge.url, tlsJudge: tlsJudge.url, ca: certificates.ca };
process.stdout.write(`${JSON.stringify(facts)}\n`);
process.stdin.on('end', async () => {
  await Promise.all([farm.stop(), judge.stop(), tlsJudge.stop()]);
  process.exit(0);
});
process.stdin.resume();
