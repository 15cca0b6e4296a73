import { expect, test } from 'bun:test';
import { readArguments } from '../../src/cli/arguments.ts';
import { NO_OPERANDS } from '../../src/cli/command.ts';
import { CommandError, EXIT } from '../../src/cli/exit.ts';
import { flag, value, valueOr, values } from '../../src/cli/options.ts';
import { choice, duration, integer, text } from '../../src/config-values.ts';
import { nearest } from '../../src/lib/nearest.ts';

const OPTIONS = {
  format: valueOr('FORM', choice(['text', 'json'], 'text', 'How.')),
  limit: value('N', integer(undefined, 'How many.', 1, 10)),
  wait: values('TIME', duration(undefined, 'How long.', '1s')),
  quiet: flag('Prints nothing.', 'q'),
};
const FILES = { form: 'FILE...', least: 1, most: 2 };
const read = (...args: string[]) => readArguments(OPTIONS, FILES, args);

function faultsOf(...args: string[]): string[] {
  try {
    read(...args);
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === EXIT.usage) return error.message.split('\n');
  }
  throw new Error('it was accepted');
}

test('a missing option is its default, nothing, or empty', () => {
  expect(read('a')).toEqual({
    options: { format: 'text', limit: undefined, wait: [], quiet: false },
    operands: ['a'],
  });
});

test('options can be anywhere, in both spellings, and the last one counts', () => {
  expect(
    read('-q', 'a', '--limit=3', '--format', 'JSON', '-', '--limit', '4', '--wait', '2s', '--wait=1m'),
  ).toEqual({
    options: { format: 'json', limit: 4, wait: [2000, 60_000], quiet: true },
    operands: ['a', '-'],
  });
});

test('after -- everything is an operand', () => {
  expect(read('--', '--limit', '-q').operands).toEqual(['--limit', '-q']);
});

test('all faults are reported at once, with what was probably meant', () => {
  expect(faultsOf('--formt=json', '--limit', '11', '--quiet=yes', '--wait')).toEqual([
    'Unknown option --formt. Did you mean --format?',
    '--quiet takes no value.',
    '--wait needs a value: --wait=TIME.',
    '--limit must be an integer from 1 to 10, not "11".',
    'Missing argument: FILE...',
  ]);
});

test('an option does not count as the value of the one before, nor does an empty text, except for a title', () => {
  expect(faultsOf('a', '--wait=', '--limit', ' ')).toEqual([
    '--wait needs a value: --wait=TIME.',
    '--limit needs a value: --limit=N.',
  ]);
  const free = { title: value('TITLE', text(undefined, 'What.')) };
  expect(readArguments(free, NO_OPERANDS, ['--title=']).options.title).toBe('');
  expect(faultsOf('a', '--format', '-q')).toEqual(['--format needs a value: --format=FORM.']);
});

test('a name that begins with a hyphen is one fault, with how to give it', () => {
  expect(faultsOf('-IMG 1.png', '-x', '-limit', '--settings=x')).toEqual([
    'Unknown option -IMG 1.png. If it is a name, write ./-IMG 1.png.',
    'Unknown option -x.',
    'Unknown option -limit. Did you mean --limit?',
    'Unknown option --settings. Write it before the command.',
    'Missing argument: FILE...',
  ]);
});

test('superfluous operands are named', () => {
  expect(faultsOf('a', 'b', 'c')).toEqual(['Unexpected argument "c".']);
  expect(() => readArguments({}, NO_OPERANDS, ['x'])).toThrow('Unexpected argument "x".');
});

test('properties of every object are not options', () => {
  expect(faultsOf('a', '--constructor')).toEqual(['Unknown option --constructor.']);
});

test('a word counts as misspelt only if it is similar to another', () => {
  const known = ['check', 'export', 'config'];
  expect(nearest('chek', known)).toBe('check');
  expect(nearest('exprot', known)).toBe('export');
  expect(nearest('chekc', known)).toBe('check');
  expect(nearest('conf', known)).toBe('config');
  expect(nearest('sleep', known)).toBeUndefined();
  expect(nearest('x', known)).toBeUndefined();
});
