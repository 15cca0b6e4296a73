import { BYTE_FAULTS } from './bytes.ts';
import type { PutBack } from './fault.ts';
import { PICTURE_FAULTS } from './pictures.ts';
import { POOL_FAULTS } from './pool.ts';
import { STORE_FAULTS } from './stores.ts';
import { UPKEEP_FAULTS } from './upkeep.ts';

/** Faults that picpool once had, and others like them. */
export const FAULTS: readonly PutBack[] = [
  ...PICTURE_FAULTS,
  ...UPKEEP_FAULTS,
  ...POOL_FAULTS,
  ...BYTE_FAULTS,
  ...STORE_FAULTS,
];
