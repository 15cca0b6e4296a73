import { expect, test } from 'bun:test';
import { type DescribedCommand, describeCommands } from '../../scripts/build/command-table.ts';
import { COMPLETIONS } from '../../scripts/build/completions.ts';
import { manualPage } from '../../scripts/build/manual.ts';
import { EXIT } from '../../src/cli/exit.ts';
import { settings } from '../../src/config.ts';

const commands = await describeCommands();
const written = (name: string) => COMPLETIONS[name]?.(commands) ?? '';

/** What bash offers where the last of these lines' words is being typed; an answer for each line. */
async function offered(lines: readonly (readonly string[])[]): Promise<string[][]> {
  const asked = lines.map((words) => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1}; _picpool; echo "\${COMPREPLY[*]}"`;
  });
  const script = [written('picpool.bash'), ...asked].join('\n');
  const bash = Bun.spawn(['bash', '--norc', '-c', script], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  expect(await bash.stderr.text()).toBe('');
  return (await bash.stdout.text())
    .split('\n')
    .slice(0, lines.length)
    .map((line) => line.split(' ').filter(Boolean));
}

const longOptions = ({ options }: DescribedCommand) => options.map(({ name }) => `--${name}`);

test('bash offers every command, and of each command exactly its options', async () => {
  const [first, ...others] = await offered([
    ['picpool', ''],
    ...commands.map(({ name }) => ['picpool', name, '--']),
  ]);
  expect(first).toEqual([...commands.map(({ name }) => name), 'help', '--help', '--settings', '--version']);
  expect(others).toEqual(commands.map(longOptions));
});

test('bash offers the values of an option, also behind =, the verbs of a command, and else leaves it to the shell', async () => {
  const answers = await offered([
    ['picpool', 'token', ''],
    ['picpool', 'token', 'create', '--role', ''],
    ['picpool', 'token', 'create', '--role', '=', 'up'],
    ['picpool', 'token', 'create', '--role', '='],
    ['picpool', 'upload', '--max-width', ''],
    ['picpool', 'upload', 'pic'],
    ['picpool', 'help', 'tok'],
  ]);
  const roles = ['upload', 'admin', 'moderator', 'gateway'];
  expect(answers).toEqual([['create', 'list', 'revoke'], roles, ['upload'], roles, [], [], ['token']]);
});

test('zsh and fish are told every command with its options', () => {
  for (const { name, options } of commands) {
    const zsh =
      new RegExp(`^    ${name}\\) _arguments [\\s\\S]*? ;;$`, 'm').exec(written('_picpool'))?.[0] ?? '';
    const fish = written('picpool.fish')
      .split('\n')
      .filter((line) => line.includes(`'__fish_seen_subcommand_from ${name}'`));
    for (const option of options) {
      expect(zsh).toContain(`--${option.name}`);
      expect(fish.join('\n')).toContain(` -l ${option.name} `);
    }
    expect(written('_picpool')).toContain(`'${name}:`);
    expect(written('picpool.fish')).toContain(`-a ${name} `);
  }
});

test('the manual has every command, option and setting, and no line that roff takes for an unknown request', () => {
  const page = manualPage(commands);
  const shown = page.replaceAll('\\-', '-');
  for (const { name, options } of commands) {
    const section = shown.split(`.SS picpool ${name} `)[1]?.split(/^\.S[SH] /m)[0] ?? '';
    for (const option of options) expect(section).toContain(`--${option.name}\\fR`);
  }
  for (const code of Object.values(EXIT)) expect(page).toMatch(new RegExp(`EXIT STATUS\\n.*\\b${code} `));
  for (const name of Object.keys(settings)) expect(page).toContain(`.B ${name}\n`);
  const requests = page.split('\n').filter((line) => /^[.']/.test(line));
  expect(requests.filter((line) => !/^\.(TH|SH|SS|TP|PP|B|I|RI|nf|fi)\b/.test(line))).toEqual([]);
});
