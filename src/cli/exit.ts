import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { AppError, ConfigError, inEnglish } from '../errors.ts';

/**
 * The exit codes of the program. `damaged`: the database is, or only a newer version can read it, so that starting again
 * would not help. `lost`: a copy is made, but the stores that it was made of have lost files. `interrupted` and `unread`: what shells report
 * for a program that SIGINT or SIGPIPE ended.
 */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  damaged: 3,
  lost: 4,
  interrupted: 130,
  unread: 141,
} as const;

export const EXIT_CODES =
  '0 success, 1 failure, 2 invalid command line or settings, 3 damaged database, 4 a copy of stores that have lost files, 130 interrupted, 141 nobody reads the output any more';

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A fault reported to the user as a sentence, without a stack. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.failed) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** The output cannot be written. A command that goes on after the fault of one file or image must not go on after this. */
export class OutputFault extends AppError {
  /** Nobody reads it any more, which ends a command without a word. */
  readonly unread: boolean;

  constructor(code: string) {
    super('internal', inEnglish(`The output cannot be written (${code}).`));
    this.unread = code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
  }
}

/** Returns with which code a command ends that failed with the error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof ConfigError) return EXIT.usage;
  if (error instanceof OutputFault && error.unread) return EXIT.unread;
  return error instanceof AppError && error.lasting ? EXIT.damaged : EXIT.failed;
}

/** A fault in the command line itself. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}

/** Returns what is at the path, `null` if nothing is. Rejects if this user cannot know. */
export async function statOf(path: string): Promise<Stats | null> {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw noAccess(path, error);
  });
}

/** A file or folder that the system refuses, most often because the server has another user. */
export function noAccess(path: string, { code }: NodeJS.ErrnoException): CommandError {
  const user = code === 'EACCES' ? " Run this as the server's user." : '';
  const disk = code === 'EROFS' ? ' Its disk is read-only: copy its folder to another, and use that.' : '';
  return new CommandError(`${path} cannot be used (${code}).${user}${disk}`);
}
