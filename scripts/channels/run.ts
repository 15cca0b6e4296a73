/**
 * Takes every way of installing picpool from the installation to the removal, on this machine, and prints what was really run. An argument
 * is a word of the names of the channels to take. Exit code 0: nothing that was run has failed.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { VERSION } from '../../src/version.ts';
import { smoke } from '../../test/support/servers/smoke.ts';
import { assertKept, CannotRun, type Channel, keepPicture, STEPS, type World } from './channel.ts';
import { composeChannel } from './compose.ts';
import { containerChannel } from './container.ts';
import { debChannel } from './deb.ts';
import { firstUse } from './first-use.ts';
import { installScriptChannel } from './install-script.ts';
import { muslChannel } from './musl.ts';
import { npmChannels } from './npm.ts';

const release = resolve('dist/release');
if (!existsSync(join(release, 'SHA256SUMS'))) {
  console.error('There is no release in dist/release. Make one: scripts/release');
  process.exit(2);
}
const words = process.argv.slice(2);
const scratch = await mkdtemp(join(tmpdir(), 'picpool-channels-'));
const world: World = { release, scratch, version: VERSION, older: '0.0.9' };
const chosen = (name: string) => words.length === 0 || words.some((word) => name.includes(word));
/** Names of channels, and what makes them: some need a server of files or a registry, which costs time. */
const makers: [names: string[], make: () => Promise<Channel[]>][] = [
  [['npm install picpool', 'npx picpool', 'bunx picpool'], () => npmChannels(world)],
  [['install.sh'], async () => [await installScriptChannel(world)]],
  [['Debian package'], async () => [await debChannel(world)]],
  [['container, amd64'], async () => [await containerChannel(world, 'x64')]],
  [['container, arm64'], async () => [await containerChannel(world, 'arm64')]],
  [['compose.simple.yaml'], async () => [await composeChannel(world)]],
  [['archive, musl, x64'], async () => [await muslChannel(world, 'x64')]],
  [['archive, musl, arm64'], async () => [await muslChannel(world, 'arm64')]],
];

let failed = 0;
const table: string[] = [];
for (const [names, make] of makers) {
  if (!names.some(chosen)) continue;
  for (const channel of await make()) {
    if (chosen(channel.name)) table.push(await take(channel));
    await channel.close();
  }
}
const uses = chosen('first use') ? await firstUse(world) : [];
await rm(scratch, { recursive: true, force: true });
if (table.length > 0)
  console.log(
    `\n| channel | ${STEPS.join(' | ')} |\n|---|${STEPS.map(() => '---|').join('')}\n${table.join('\n')}`,
  );
for (const { what, seconds, allowed } of uses) {
  if (seconds > allowed) failed++;
  console.log(`From the install line to ${what}: ${seconds.toFixed(1)} s; ${allowed} s are allowed`);
}
process.exit(failed > 0 ? 1 : 0);

/** Takes the steps one after the other up to the first that fails; answers the row of the table. */
async function take({ name, needs, url, token, steps }: Channel): Promise<string> {
  let kept = '';
  const mainJob = async () => {
    kept = await keepPicture(url());
    await smoke(url(), token?.());
    return 'every page, list and format';
  };
  const missing = needs.filter((program) => Bun.which(program) === null);
  const cells: string[] = [];
  let broken = false;
  for (const step of STEPS) {
    const work = step === 'main job' ? mainJob : steps[step];
    if (missing.length > 0) cells.push(`not run: ${missing.join(', ')} is missing`);
    else if (!work) cells.push('');
    else if (broken) cells.push('not run');
    else {
      const startedAt = performance.now();
      let cell = 'FAILED';
      try {
        const seen = await work(kept);
        if (step === 'upgrade') await assertKept(url(), kept);
        cell = `${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${seen}`;
      } catch (error) {
        broken = true;
        if (error instanceof CannotRun) cell = `not run: ${error.message}`;
        else {
          failed++;
          console.error(`${name}, ${step}:`, error);
        }
      }
      console.log(`${name}, ${step}: ${cell}`);
      cells.push(cell);
    }
  }
  return `| ${name} | ${cells.join(' | ')} |`;
}
