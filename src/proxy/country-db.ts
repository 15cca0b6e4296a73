import { assetPath } from '../assets.ts';

/** Where the built-in country database lies. */
export function builtInCountryDb(): string {
  return assetPath('@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb');
}
