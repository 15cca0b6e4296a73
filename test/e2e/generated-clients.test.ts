import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  DESCRIPTIONS,
  FOUND_OUT,
  type GeneratedClients,
  generators,
  startGeneratedClients,
} from '../support/generated-clients.ts';

let clients: GeneratedClients;

beforeAll(async () => {
  clients = await startGeneratedClients();
});
afterAll(() => clients.stop());

// Those of Python and Go take minutes: scripts/generated-clients-test.
test.each(DESCRIPTIONS)(
  'the types that openapi-typescript makes of %s hold for calls of the server',
  async (description) => {
    expect(await clients.try(generators.TypeScript, description)).toEqual(FOUND_OUT);
  },
  60_000,
);
