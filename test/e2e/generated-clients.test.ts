import { expect, test } from 'bun:test';
import {
  DESCRIPTIONS,
  FOUND_OUT,
  generators,
  startGeneratedClients,
} from '../support/clients/generated-clients.ts';
import { shared } from '../support/shared.ts';

const clients = shared(startGeneratedClients);

// Those of Python and Go take minutes: scripts/generated-clients-test.
test.each(DESCRIPTIONS)(
  'the types that openapi-typescript makes of %s hold for calls of the server',
  async (description) => {
    expect(await clients.try(generators.TypeScript, description)).toEqual(FOUND_OUT);
  },
  180_000,
);

test('Eden has the paths, the parameters and the answers of a server by the type of the client', async () => {
  expect(await clients.try(generators.Eden, '/openapi.json')).toEqual(FOUND_OUT);
}, 180_000);
