import type * as en from './en.ts';

/** The texts of the pages in one language. */
export type Words = typeof en;
