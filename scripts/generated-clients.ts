/** See scripts/generated-clients-test. */
import assert from 'node:assert/strict';
import {
  DESCRIPTIONS,
  FOUND_OUT,
  generators,
  startGeneratedClients,
} from '../test/support/clients/generated-clients.ts';

/** Without which a generator is not run. */
const NEEDS: Partial<Record<string, string>> = { Python: 'python3', Go: 'go' };

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const clients = await startGeneratedClients();
let failed = 0;
for (const [language, generator] of Object.entries(generators)) {
  for (const description of DESCRIPTIONS) {
    const name = `${language}, ${description}`;
    if (words.length > 0 && !words.some((word) => name.toLowerCase().includes(word))) continue;
    const program = NEEDS[language];
    if (program !== undefined && Bun.which(program) === null) {
      console.log(`not run  ${name}: ${program} is missing`);
      continue;
    }
    const startedAt = performance.now();
    try {
      assert.deepEqual(await clients.try(generator, description), FOUND_OUT);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(`passed   ${name}, ${seconds} s: ${Object.keys(FOUND_OUT).join(', ')}`);
    } catch (error) {
      failed++;
      console.log(`FAILED   ${name}:`, error);
    }
  }
}
await clients.stop();
process.exit(failed > 0 ? 1 : 0);
