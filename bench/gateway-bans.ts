/**
 * What clients get of a site that has banned half of 60 exits: over plain http without a word from them, and over https with a
 * report for each ban that they meet. `bun bench/gateway-bans.ts`. It would be met without serving anyone by a gateway that
 * leaves through one good exit for ever, so the exits of the last 100 are counted as well.
 */
import { bunTcp } from '../src/runtime/bun-tcp.ts';
import { type Answer, ask, askSecurely, startBanningSite } from '../test/support/gateway/banning-site.ts';
import { startBareGateway } from '../test/support/gateway/bare.ts';

const half = (exit: string) => (Number(exit.split('.')[3]) % 2 === 1 ? 403 : 200);
const operator = { id: '127.0.0.1', speaksForAll: true };

console.log('row | success of 300 | of the last 100 | their exits | visits of the site');
for (const [row, send] of [
  ['plain http, no reports', ask],
  ['https, each ban reported', askSecurely],
] as const) {
  for (let round = 0; round < 3; round++) {
    const site = await startBanningSite(60, half);
    const gateway = await startBareGateway({ tcp: bunTcp, proxies: site.proxies });
    const answers: Answer[] = [];
    for (let n = 0; n < 300; n++) {
      const answer = await send({ gateway, site });
      answers.push(answer);
      if (send === askSecurely && answer.status === 403)
        gateway.report(operator, { exit: answer.exit, site: 'shop.example', ok: false });
    }
    const last = answers.slice(-100);
    const good = (some: Answer[]) => some.filter(({ status }) => status === 200).length;
    const exits = new Set(last.map(({ exit }) => exit)).size;
    console.log(
      [row, `${Math.round(good(answers) / 3)} %`, `${good(last)} %`, exits, site.seen.length].join(' | '),
    );
    gateway.stop();
    site.close();
  }
}
process.exit();
