import { AppError } from '../../errors.ts';

export function notFound(): AppError {
  return new AppError('not_found', 'There is no such image.');
}

/** Resolves with `null` for what somebody else has removed, or what has ended. */
export function ignoreGone(error: unknown): null {
  if (error instanceof AppError && ['not_found', 'gone'].includes(error.code)) return null;
  throw error;
}

export function gone(): AppError {
  return new AppError('gone', 'This picture has expired or reached its view limit.');
}
