import { assetPath } from '../assets.ts';

/** Returns the path of the built-in country database. */
export function builtInCountryDb(): string {
  return assetPath('@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb');
}
