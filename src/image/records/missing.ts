import { AppError } from '../../errors.ts';

export function notFound(): AppError {
  return new AppError('not_found', 'There is no such image.');
}

export function gone(): AppError {
  return new AppError('gone', 'This picture has expired or reached its view limit.');
}
