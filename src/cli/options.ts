import type { Setting } from '../config-values.ts';

/** An option of a command; its value is `T`. */
interface Option<T> {
  /** Placeholder of the value in the help; `null` if the option takes none. */
  placeholder: string | null;
  help: string;
  /** A one-letter alias. */
  short?: string;
  /** All possible values, if they can be listed. */
  choices?: readonly string[];
  /** Returns the value from all texts given. Throws a description of what is valid. */
  read(texts: readonly string[]): T;
}

export type Options = Record<string, Option<unknown>>;

/** The values of a command's options. */
export type Given<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** Returns an option without a value. */
export function flag(help: string, short?: string): Option<boolean> {
  const read = (texts: readonly string[]) => texts.length > 0;
  return { placeholder: null, help, read, ...(short !== undefined && { short }) };
}

/** Returns an optional option. If it is repeated, the last one counts. */
export function value<T>(placeholder: string, setting: Setting<T>): Option<T | undefined> {
  return optionOf(placeholder, setting, setting.description, (texts) => {
    const last = texts.at(-1);
    return last === undefined ? undefined : setting.decode(last);
  });
}

/** Returns an option with the setting's default. If it is repeated, the last one counts. */
export function valueOr<T>(placeholder: string, setting: Setting<T>): Option<T> {
  const fallback = String(setting.default);
  const help = `${setting.description} [${fallback}]`;
  return optionOf(placeholder, setting, help, (texts) => setting.decode(texts.at(-1) ?? fallback));
}

/** Returns an option that may be repeated. */
export function values<T>(placeholder: string, setting: Setting<T>): Option<T[]> {
  const help = `${setting.description} May be given more than once.`;
  return optionOf(placeholder, setting, help, (texts) => texts.map((text) => setting.decode(text)));
}

function optionOf<T>(
  placeholder: string,
  { choices }: { choices?: readonly string[] },
  help: string,
  read: Option<T>['read'],
): Option<T> {
  return { placeholder, help, ...(choices && { choices }), read };
}
