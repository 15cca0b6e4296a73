import { expect, test } from 'bun:test';
import { FOUND_OUT, generators, startGeneratedClients } from '../support/clients/generated-clients.ts';
import { shared } from '../support/shared.ts';

const clients = shared(startGeneratedClients);

// Those of Python and Go, and of the description for OpenAPI 3.0, take minutes: scripts/generated-clients-test.
test('the types that openapi-typescript makes of the description hold for calls of the server', async () => {
  expect(await clients.try(generators.TypeScript, '/openapi.json')).toEqual(FOUND_OUT);
}, 180_000);

test('Eden has the paths, the parameters and the answers of a server by the type of the client', async () => {
  expect(await clients.try(generators.Eden, '/openapi.json')).toEqual(FOUND_OUT);
}, 180_000);
