import process from 'node:process';
import { CommandError, EXIT, usageError } from './exit.ts';
import { readSecret } from './secret-files.ts';
import type { Terminal } from './terminal.ts';

interface PasswordOptions {
  /** Given on the command line, where other users of the machine can read it. */
  password?: string | undefined;
  'password-file'?: string | undefined;
  'ask-password': boolean;
}

/**
 * Returns the password that the options give or the user types, or `undefined`. Rejects with `CommandError` if more
 * than one source is given, a file cannot be read, or nobody can be asked.
 */
export async function passwordOf(options: PasswordOptions, terminal: Terminal): Promise<string | undefined> {
  const { password, 'password-file': file, 'ask-password': ask } = options;
  if ([password !== undefined, file !== undefined, ask].filter(Boolean).length > 1) {
    throw usageError('Give only one of --password, --password-file and --ask-password.');
  }
  if (ask) return askTwice(terminal);
  if (file === undefined) return password;
  return readSecret(file).catch((error: Error) => {
    throw usageError(`--password-file ${error.message}.`);
  });
}

async function askTwice(terminal: Terminal): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY || !terminal.live) {
    throw usageError('There is no terminal to ask for the password; use --password-file.');
  }
  // Set before the prompt is shown, so that the input is never visible.
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  try {
    const password = await readLine('Password: ', terminal);
    if (password === '') throw new CommandError('The password is empty.');
    if ((await readLine('Again: ', terminal)) !== password)
      throw new CommandError('The passwords do not match.');
    return password;
  } finally {
    stdin.setRawMode(false);
    terminal.status('');
  }
}

const ENTER = ['\r', '\n', '\u0004'];
const INTERRUPT = '\u0003';
const ERASE = ['\u007f', '\b'];
const ERASE_ALL = '\u0015';

/** Reads a line from a terminal in raw mode. */
function readLine(prompt: string, terminal: Terminal): Promise<string> {
  const { stdin } = process;
  return new Promise((resolve, reject) => {
    let typed: string[] = [];
    const onData = (piece: string | Buffer) => {
      for (const key of String(piece)) {
        if (ENTER.includes(key)) return finish(() => resolve(typed.join('')));
        if (key === INTERRUPT)
          return finish(() => reject(new CommandError('Interrupted.', EXIT.interrupted)));
        if (ERASE.includes(key)) typed.pop();
        else if (key === ERASE_ALL) typed = [];
        else typed.push(key);
      }
    };
    const finish = (settle: () => void) => {
      stdin.off('data', onData);
      stdin.pause();
      settle();
    };
    stdin.on('data', onData);
    stdin.resume();
    terminal.status(prompt);
  });
}
