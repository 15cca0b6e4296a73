import { randomBytes } from 'node:crypto';
import { recordsAdapter } from '../../adapters/registry.ts';
import { parseConfig } from '../config.ts';
import { text, timer } from '../config-values.ts';
import { type Finding, failed, ok, warn } from '../findings/finding.ts';
import { checkJudges, checkSources } from '../findings/network.ts';
import { fileFindings, openFindings } from '../findings/settings.ts';
import { checkBlobs, checkDurability, checkLimits, checkPair, checkRecords } from '../findings/stores.ts';
import { checkConversion, checkFolder, checkOpenFiles, checkPort, type Patient } from '../findings/system.ts';
import { countOf, formatCount } from '../lib/format.ts';
import { defineCommand } from './command.ts';
import { misspelled } from './config.ts';
import { EXIT, type ExitCode, noAccess, usageError } from './exit.ts';
import { demandServer, EXPOSED_CHECKS, exposedAt } from './exposed.ts';
import { flag, value, valueOr } from './options.ts';
import { requireDatabase } from './stores.ts';
import type { Terminal } from './terminal.ts';

const MARKS = { ok: 'ok  ', open: 'open', unknown: 'skip', warn: 'warn', fail: 'FAIL' };

export const command = defineCommand({
  about: `Checks everything that a server with these settings needs (stores, disk, limits, image conversion, judges,
lists), lists what the settings leave open, and says how to fix problems. Run it as the server's user. With
--exposed, it tests a running server from outside instead; docs/exposing.md explains each line.
Exit code 0: the server can run; 1: there is a problem; 2: a setting is invalid.`,
  options: {
    exposed: value('URL', text(undefined, 'Only tests what can be reached from outside at this URL.')),
    offline: flag('Skips judges and lists, which need the network.'),
    field: value(
      'FILE',
      text(
        undefined,
        'Only tries lists, judges, witnesses, IPv6 and a gateway, and writes a report without addresses.',
      ),
    ),
    for: valueOr('TIME', timer('10m', 'How long --field takes.', '5s')),
    repair: flag('Only saves what is readable in a damaged database to a new one; the old file is kept.'),
  },

  async run({ options, env, runtime, terminal }) {
    const config = parseConfig(env);
    const patient: Patient = { config, env, runtime };
    if (options.repair) return repair(patient, terminal);
    if (options.field !== undefined) {
      const { examineField } = await import('./field.ts');
      const wish = { path: options.field, ms: options.for };
      return examine(terminal, [['field', () => examineField(patient, wish)]]);
    }
    const pool = config.SERVICES.includes('proxy');
    const images = config.SERVICES.includes('image');
    if (options.exposed !== undefined) {
      const exposed = exposedAt(options.exposed, config.PORT);
      await demandServer(exposed);
      return examine(
        terminal,
        Object.entries(EXPOSED_CHECKS).map(([name, check]) => [name, async () => [await check(exposed)]]),
      );
    }
    const checkSettings = async () => {
      const doubts = [...misspelled(env), ...(runtime.forbidden ?? []).map((name) => `${name} is missing`)];
      const found = [...doubts.map((text) => warn(text)), ...(await fileFindings(config))];
      return found.length === 0 ? [ok('all can be used')] : found;
    };
    const examinations: [name: string, wanted: boolean, check: Check][] = [
      ['settings', true, checkSettings],
      ['open to all', true, checkOpen],
      ['address', true, checkPort],
      ['data folder', true, checkFolder],
      ['open files', pool, checkOpenFiles],
      ['record store', true, checkRecords],
      ['limits', config.LIMITS_URL !== undefined, checkLimits],
      ['image store', images, checkBlobs],
      ['records and files', images, checkPair],
      ['durability', true, checkDurability],
      ['image conversion', images, checkConversion],
      ['judges', pool && !options.offline, checkJudges],
      ['proxy lists', pool && !options.offline, checkSources],
    ];
    return examine(
      terminal,
      examinations.flatMap(([name, wanted, check]) => (wanted ? [[name, () => check(patient)]] : [])),
    );
  },
});

type Check = (patient: Patient) => Promise<readonly Finding[]>;

type Examination = [name: string, look: () => Promise<readonly Finding[]>];

async function examine(terminal: Terminal, examinations: readonly Examination[]): Promise<ExitCode> {
  let failures = 0;
  for (const [name, look] of examinations) {
    terminal.status(`${name} ...`);
    const findings = await look().catch((error: unknown) => [failed(error)]);
    for (const { level, text, advice } of findings) {
      if (level === 'fail') failures++;
      const lines = [text, ...(advice === undefined ? [] : [advice])].join(`\n${' '.repeat(25)}`);
      await terminal.print(`${MARKS[level]}  ${name.padEnd(17)}  ${lines}\n`);
    }
  }
  terminal.status('');
  if (failures > 0) terminal.say(`\n${countOf(failures, 'problem')} to fix`);
  return failures > 0 ? EXIT.failed : EXIT.done;
}

/**
 * Lists what the settings leave open to everyone. That is fine on a private machine, and should be read before
 * exposing it.
 */
async function checkOpen({ config }: Patient): Promise<Finding[]> {
  const findings = openFindings(config, () => randomBytes(24).toString('base64url'));
  return findings.length === 0 ? [ok('nothing that a setting could close')] : findings;
}

/** Repairs the store of the records, and reports the result. */
async function repair({ config, runtime }: Patient, terminal: Terminal): Promise<ExitCode> {
  const adapter = recordsAdapter(config.METADATA_URL);
  const path = adapter.path(config.METADATA_URL);
  if (!adapter.repair || path === null) {
    throw usageError('Only a database file can be repaired.');
  }
  await requireDatabase(config.METADATA_URL);
  const repaired = adapter.repair(config.METADATA_URL, { runtime });
  const { rows, torn, kept } = await repaired.catch((error: NodeJS.ErrnoException) => {
    throw error.syscall ? noAccess(error.path ?? path, error) : error;
  });
  const counts = Object.entries(rows).map(([name, count]) => `${name} ${formatCount(count)}`);
  await terminal.print(`read: ${counts.join(', ')}\nthe damaged file is ${kept}\n`);
  if (torn.length > 0) terminal.say(`Could not be read completely: ${torn.join(', ')}.`);
  return EXIT.done;
}
