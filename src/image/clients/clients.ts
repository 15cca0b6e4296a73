import { catbox } from './catbox.ts';
import type { Client } from './client.ts';
import { imgur } from './imgur.ts';
import { lsky } from './lsky.ts';
import { nullPointer } from './null-pointer.ts';
import { picgo } from './picgo.ts';
import { smms } from './smms.ts';

/** All other services whose clients are supported. */
export const CLIENTS: readonly Client[] = [lsky, smms, imgur, catbox, nullPointer, picgo];
