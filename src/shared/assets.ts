import { fileURLToPath } from 'node:url';

/** Files of packages that are read as they are. `scripts/build.ts` puts each into the binary. */
export const ASSETS = [
  '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb',
  'swagger-ui-dist/swagger-ui-bundle.js',
  'swagger-ui-dist/swagger-ui.css',
] as const;

export type AssetName = (typeof ASSETS)[number];

/** Where an asset stands, for `node:fs`. The build replaces this module by one that knows the places in the binary. */
export function assetPath(name: AssetName): string {
  return fileURLToPath(import.meta.resolve(name));
}
