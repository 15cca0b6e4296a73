import { expect, test } from 'bun:test';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, unreadable } from '../../src/errors.ts';
import { builtInCountryDb, openCountries } from '../../src/proxy/pool/country.ts';
import { isCountryCode } from '../../src/proxy/pool/country-code.ts';
import { readAuthority } from '../../src/start/checker.ts';
import { createCertificates } from '../support/certificates.ts';
import { sharedFolder } from '../support/shared.ts';

const folder = await sharedFolder();

test('an address, IPv4 or IPv6, has the country of the built-in database', async () => {
  const countryOf = await openCountries();
  expect(countryOf('8.8.8.8')).toBe('US');
  expect(countryOf('::ffff:8.8.8.8')).toBe('US');
  expect(countryOf('2001:4860:4860::8888')).toBe('US');
  expect(countryOf('193.0.6.139')).toBe('NL');
});

test('an address without a country, or an invalid one, is ZZ', async () => {
  const countryOf = await openCountries();
  for (const address of [
    '127.0.0.1',
    '10.0.0.1',
    '::1',
    '',
    'example.com',
    '08.8.8.8',
    'fe80::1%eth0',
    '8.8.8.8:80',
  ]) {
    expect(countryOf(address)).toBe('ZZ');
  }
});

test("the user's database is used, and one that cannot be says which file it is, as does a certificate", async () => {
  const countryOf = await openCountries(builtInCountryDb());
  expect(countryOf('8.8.8.8')).toBe('US');
  // Some name regions, which nobody can filter by. Before each text stands its length.
  const regions = (await readFile(builtInCountryDb(), 'latin1')).replaceAll('BUS', 'BEU');
  const odd = join(folder, 'regions.mmdb');
  await writeFile(odd, regions, 'latin1');
  expect((await openCountries(odd))('8.8.8.8')).toBe('ZZ');
  const none = join(folder, 'none.mmdb');
  const wrong = join(folder, 'wrong.mmdb');
  await writeFile(wrong, 'not a database');
  for (const [path, why] of [
    [none, 'cannot be read'],
    [folder, 'cannot be read'],
    [wrong, 'is not a country database (.mmdb)'],
  ] as const) {
    const error = await openCountries(path).catch((fault) => fault);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.faults).toEqual([
      { variable: 'PROXY_COUNTRY_DB', message: `names a file that ${why}: ${path}` },
    ]);
  }
  const fault = {
    variable: 'PROXY_JUDGE_CA',
    message: `names a file that is not a certificate (PEM): ${wrong}`,
  };
  const { ca, good } = await createCertificates();
  // Connections do not read what does not begin a line.
  for (const text of ['not a database', `\ufeff${ca}`, good.key.trimEnd() + ca]) {
    await writeFile(wrong, text);
    expect(await readAuthority(wrong).catch((error) => error)).toMatchObject({ faults: [fault] });
  }
  const forbidden = Object.assign(new Error('Requires read access'), { name: 'NotCapable' });
  expect(() => unreadable('TERMS', wrong, 'a text')(forbidden)).toThrow('cannot be read');
});

test('a country code must name a country', () => {
  for (const code of ['US', 'NA', 'GB', 'XK']) expect(isCountryCode(code)).toBe(true);
  for (const code of ['ZZ', 'EU', 'UK', 'us', 'OK', '', '??', 'USA']) expect(isCountryCode(code)).toBe(false);
});
