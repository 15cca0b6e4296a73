import { randomBytes } from 'node:crypto';
import { parseConfig } from '../config.ts';
import { text } from '../config-values.ts';
import { openDoors } from '../start/open-doors.ts';
import { en } from '../web/words/en.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { misspelled } from './config.ts';
import { demandServer, EXPOSED_CHECKS, exposedUrl } from './doctor-exposed.ts';
import { type Finding, grouped, type Patient, STATES } from './doctor-finding.ts';
import { checkJudges, checkSources } from './doctor-network.ts';
import { checkBlobs, checkPair, checkRecords, checkRisks, repair } from './doctor-stores.ts';
import { checkConversion, checkFolder, checkOpenFiles, checkPort } from './doctor-system.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { countOf } from './format.ts';
import { flag, value } from './options.ts';
import type { Terminal } from './terminal.ts';

const COLORS = { ok: 'green', open: 'yellow', warn: 'yellow', fail: 'red' } as const;

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Checks everything that a server with these settings needs (stores, disk, limits, image conversion, judges,
lists), lists what the settings leave open, and says how to fix problems. Run it as the server's user. With
--exposed, it tests a running server from outside instead; docs/exposing.md explains each line.
Exit code 0: the server can run; 1: there is a problem; 2: a setting is invalid.`,
  options: {
    exposed: value('URL', text(undefined, 'Only tests what can be reached from outside at this URL.')),
    offline: flag('Skips judges and lists, which need the network.'),
    repair: flag('Only saves what is readable in a damaged database to a new one; the old file is kept.'),
  },

  async run({ options, env, runtime, terminal }) {
    const config = parseConfig(env);
    const patient: Patient = { config, env, runtime };
    if (options.repair) return repair(patient, terminal);
    const pool = config.SERVICES.includes('proxy');
    const images = config.SERVICES.includes('image');
    if (options.exposed !== undefined) {
      const exposed = { url: exposedUrl(options.exposed), port: config.PORT };
      await demandServer(exposed);
      return examine(
        terminal,
        EXPOSED_CHECKS.map(({ name, check }) => ({ name, look: () => check(exposed) })),
      );
    }
    const checks: [name: string, wanted: boolean, check: (patient: Patient) => Promise<Finding[]>][] = [
      ['settings', true, async () => settingsFindings(misspelled(env))],
      ['open to all', true, checkOpenDoors],
      ['address', true, checkPort],
      ['data folder', true, checkFolder],
      ['open files', pool, checkOpenFiles],
      ['record store', true, checkRecords],
      ['image store', images, checkBlobs],
      ['records and files', images, checkPair],
      ['durability', true, checkRisks],
      ['image conversion', images, checkConversion],
      ['judges', pool && !options.offline, checkJudges],
      ['proxy lists', pool && !options.offline, checkSources],
    ];
    const wanted = checks.filter(([, isWanted]) => isWanted);
    return examine(
      terminal,
      wanted.map(([name, , check]) => ({ name, look: () => check(patient) })),
    );
  },
});

interface Examination {
  name: string;
  look: () => Promise<Finding[]>;
}

async function examine(terminal: Terminal, examinations: readonly Examination[]): Promise<ExitCode> {
  let failures = 0;
  for (const { name, look } of examinations) {
    terminal.status(`${name} ...`);
    const findings = await look().catch((error: unknown) => [failure(error)]);
    for (const { state, text, advice } of grouped(findings)) {
      if (state === 'fail') failures++;
      const lines = [text, ...(advice === undefined ? [] : [advice])].join(`\n${' '.repeat(25)}`);
      await terminal.print(`${terminal.paint(COLORS[state], STATES[state])}  ${name.padEnd(17)}  ${lines}\n`);
    }
  }
  terminal.status('');
  if (failures > 0) terminal.say(`\n${countOf(failures, 'problem')} to fix`);
  return failures > 0 ? EXIT.failed : EXIT.done;
}

function settingsFindings(hints: readonly string[]): Finding[] {
  if (hints.length === 0) return [{ state: 'ok', text: 'all can be used' }];
  return hints.map((text) => ({ state: 'warn', text }));
}

function failure(error: unknown): Finding {
  return { state: 'fail', text: error instanceof Error ? error.message : String(error) };
}

/**
 * Lists what the settings leave open to everyone. That is fine on a private machine, and should be read before
 * exposing it.
 */
async function checkOpenDoors({ config }: Patient): Promise<Finding[]> {
  const doors = openDoors(config, () => randomBytes(24).toString('base64url'));
  if (doors.length === 0) return [{ state: 'ok', text: 'nothing that a setting could close' }];
  return doors.map(({ door, setting }) => ({
    state: 'open',
    text: en.openPanel.doors[door],
    advice: setting,
  }));
}
