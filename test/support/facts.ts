import { type Facts, FrequentFacts } from '../../src/lib/logger.ts';

/** Returns what a line is about. */
export function plainFacts(facts: Facts | FrequentFacts = {}): Facts {
  return facts instanceof FrequentFacts ? facts.plain() : facts;
}
