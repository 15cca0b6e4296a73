import process from 'node:process';
import { photo } from '../images/images.ts';
import { startCodec } from './codec.ts';

/** A server that owns workers, one of them at work, and prints their process ids: to be killed. */
const { codec, convert } = await startCodec();
const picture = await photo(2400, 2000);
void convert(picture, { format: 'avif' });
while (codec.stats().busy === 0) await new Promise((resolve) => setTimeout(resolve, 5));
process.stdout.write(`${JSON.stringify(codec.stats().pids)}\n`);
