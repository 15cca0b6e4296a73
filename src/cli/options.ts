import { Value } from '@sinclair/typebox/value';
import type { Setting } from '../config-values.ts';

/** An option of a command; its value is `T`. */
export interface Option<T> {
  /** Placeholder of the value in the help; `null`: the option takes none. */
  placeholder: string | null;
  help: string;
  /** A one-letter alias. */
  short?: string;
  /** All possible values, if they can be listed. */
  choices?: readonly string[];
  /** The value out of all texts that were given. Throws what would be right. */
  read(texts: readonly string[]): T;
}

export type Options = Record<string, Option<unknown>>;

/** What the options of a command line come to. */
export type Given<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** An option without a value. */
export function flag(help: string, short?: string): Option<boolean> {
  const read = (texts: readonly string[]) => texts.length > 0;
  return { placeholder: null, help, read, ...(short !== undefined && { short }) };
}

/** An option that need not be given; the last one counts. */
export function value<T>(placeholder: string, setting: Setting<T>): Option<T | undefined> {
  return {
    placeholder,
    help: setting.description ?? '',
    ...choicesOf(setting),
    read: (texts) => {
      const text = texts.at(-1);
      return text === undefined ? undefined : decode(setting, text);
    },
  };
}

/** An option that has the setting's default if it is not given; the last one counts. */
export function valueOr<T>(placeholder: string, setting: Setting<T>): Option<T> {
  const fallback = String(setting.default);
  return {
    placeholder,
    help: `${setting.description} [${fallback}]`,
    ...choicesOf(setting),
    read: (texts) => decode(setting, texts.at(-1) ?? fallback),
  };
}

/** An option that may be given more than once. */
export function values<T>(placeholder: string, setting: Setting<T>): Option<T[]> {
  const help = `${setting.description} May be given more than once.`;
  return {
    placeholder,
    help,
    ...choicesOf(setting),
    read: (texts) => texts.map((text) => decode(setting, text)),
  };
}

function choicesOf({ choices }: { choices?: readonly string[] }): { choices?: readonly string[] } {
  return choices === undefined ? {} : { choices };
}

/** TypeBox wraps what a decoder throws; the decoder's own sentence is the cause. */
function decode<T>(setting: Setting<T>, text: string): T {
  try {
    return Value.Decode(setting, text);
  } catch (error) {
    throw error instanceof Error && error.cause instanceof Error ? error.cause : error;
  }
}
