import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type CountryResponse, Reader } from 'mmdb-lib';
import { assetPath } from '../../assets.ts';
import { unreadable } from '../../errors.ts';
import { canonicalAddress } from '../../lib/address.ts';
import { UNKNOWN_COUNTRY } from '../proxy.ts';
import { isCountryCode } from './country-code.ts';

/** Returns the upper-case ISO code of an address's country, or `ZZ` if it is unknown. Never throws. */
export type CountryOf = (address: string) => string;

/** The built-in database holds `{ country_code }`, those of MaxMind and others `{ country: { iso_code } }`. */
type CountryRecord = CountryResponse & { country_code?: string };

/** Returns the path of the built-in country database. */
export function builtInCountryDb(): string {
  return assetPath('@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb');
}

/**
 * Opens the country database. The user's is opened at once; the built-in one (IPv4 and IPv6 in one file of 7.8 MB,
 * kept in memory) at the first lookup, so that the start does not wait for it.
 * @throws {ConfigError} if the user's file cannot be read or is not an MMDB file.
 */
export async function openCountries(path?: string): Promise<CountryOf> {
  let reader = path === undefined ? undefined : await openUsers(path);
  return (address) => {
    const literal = canonicalAddress(address);
    if (literal === null) return UNKNOWN_COUNTRY;
    reader ??= new Reader<CountryRecord>(readFileSync(builtInCountryDb()));
    try {
      const found = reader.get(literal);
      const code =
        found?.country_code ?? found?.country?.iso_code ?? found?.registered_country?.iso_code ?? '';
      return isCountryCode(code) ? code : UNKNOWN_COUNTRY;
    } catch {
      return UNKNOWN_COUNTRY;
    }
  };
}

function openUsers(path: string): Promise<Reader<CountryRecord>> {
  const open = (bytes: Buffer) => {
    const reader = new Reader<CountryRecord>(bytes);
    reader.get('192.0.2.1');
    return reader;
  };
  return readFile(path)
    .then(open)
    .catch(unreadable('PROXY_COUNTRY_DB', path, 'a country database (.mmdb)'));
}
