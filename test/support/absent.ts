import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';

/** Where programs are, besides the PATH: Debian's servers, and what the test script downloads. */
const FOLDERS = ['/usr/bin', '/usr/sbin', join(import.meta.dirname, '../../.tools/bin')];

/**
 * Reports whether one of the programs is not installed, so that tests which need it can be skipped. Always false with
 * `CI=true`, where a test that cannot run has failed.
 */
export function absent(...programs: string[]): boolean {
  return process.env.CI !== 'true' && programs.some((program) => pathOf(program) === undefined);
}

/** Returns the path of a program, `undefined` if it is not installed. */
export function pathOf(program: string): string | undefined {
  const paths = [...(process.env.PATH ?? '').split(delimiter), ...FOLDERS].map((folder) =>
    join(folder, program),
  );
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
