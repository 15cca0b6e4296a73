import type { Template } from './web/words/zh-cn/messages.ts';

/** Every error code that callers can receive. `http/errors.ts` maps each to a status. */
export type ErrorCode =
  | 'invalid_parameter'
  | 'invalid_body'
  | 'unauthorized'
  | 'password_required'
  | 'wrong_password'
  | 'forbidden'
  | 'not_found'
  | 'gone'
  | 'method_not_allowed'
  | 'conflict'
  | 'too_large'
  | 'not_an_image'
  | 'undecodable_image'
  | 'image_limit'
  | 'conversion_timeout'
  | 'range_not_satisfiable'
  | 'rate_limited'
  | 'busy'
  | 'unavailable'
  | 'storage_full'
  | 'internal';

type Value = string | number | Message;

/** An English text with its values, which pages translate by its template. It counts as its text in strings and JSON. */
export class Message {
  /** With the names of values in braces. */
  readonly template: string;
  readonly values: Readonly<Record<string, Value>>;

  constructor(template: string, values: Readonly<Record<string, Value>> = {}) {
    this.template = template;
    this.values = values;
  }

  toString(): string {
    return filled(this.template, (name) => this.values[name]);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Puts values into a template. Names without a value stay. */
export function filled(template: string, valueFor: (name: string) => Value | undefined): string {
  return template.replace(/\{(\w+)\}/g, (name, inner: string) => String(valueFor(inner) ?? name));
}

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** Creates a message from a template that every language of the pages has, and all its values. */
export function message<Text extends Template>(
  template: Text,
  values: Readonly<Record<NamesIn<Text>, Value>>,
): Message {
  return new Message(template, values);
}

/** For what only programs and the operator are told, which stays in English. On pages, the title of the code replaces it. */
export function inEnglish(text: string): Message {
  return new Message(text);
}

/** A message, or a template without values. Others do not compile: they lack a translation. */
export type Said = Message | Plain<Template>;

type Plain<Text> = Text extends `${string}{${string}` ? never : Text;

/** One fault in the input: `field` as the caller wrote it, `message` with what was wrong and what would be right. */
export interface ErrorDetail {
  field: string;
  message: Said;
}

interface AppErrorOptions {
  details?: ErrorDetail[];
  /** How long the caller should wait before trying again; becomes `Retry-After`. */
  retryAfterMs?: number;
  /** Whether only the operator can end it: a server should not be started again. */
  lasting?: boolean;
  cause?: unknown;
}

/**
 * An error whose message may be shown to the caller. Anything else that is thrown is logged and shown as `internal`,
 * so that no internals leak.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  /** The same as `message`, with its values. */
  readonly said: Message;
  readonly details: ErrorDetail[] | undefined;
  readonly retryAfterMs: number | undefined;
  readonly lasting: boolean;

  constructor(code: ErrorCode, said: Said, options: AppErrorOptions = {}) {
    const message = said instanceof Message ? said : new Message(said);
    super(String(message), { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.said = message;
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
    this.lasting = options.lasting ?? false;
  }
}

/** Returns what a caller has sent, or how it is called, cut to a length that fits a message. */
export const cutSent = (sent: string): string => (sent.length > 60 ? `${sent.slice(0, 57)}...` : sent);

/** Returns an `invalid_parameter` error about a single field. */
export function invalidParameter(field: string, message: Said): AppError {
  return new AppError('invalid_parameter', message, { details: [{ field, message }] });
}

/** Returns the error for a parameter that is not as the rule says. */
export function invalidField(field: string, rule: Said): AppError {
  return invalidParameter(field, message('{field} {rule}.', { field, rule }));
}

/** One faulty variable. */
export interface ConfigFault {
  variable: string;
  message: string;
}

/** All faults of the environment, one on each line. */
export class ConfigError extends Error {
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super(faults.map(({ variable, message }) => `${variable} ${message}`).join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/**
 * Creates a function that says what is wrong with the file that a setting names. `form`: what its contents should be; without it, their
 * errors are thrown on. `NotCapable` is what Deno throws without the permission to read.
 */
export function unreadable(variable: string, path: string, form?: string): (error: unknown) => never {
  return (error) => {
    const isUnread = error instanceof Error && ('syscall' in error || error.name === 'NotCapable');
    if (!isUnread && form === undefined) throw error;
    const why = isUnread ? 'cannot be read' : `is not ${form}`;
    throw new ConfigError([{ variable, message: `names a file that ${why}: ${path}` }]);
  };
}

/** Returns the message with its cause, which the message for callers hides, and the operator needs. */
export function withCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
