import { isRecord } from '../../lib/foreign-json.ts';
import type { LoginParts } from '../login.ts';
import { isCountryCode } from '../pool/country-code.ts';
import type { Protocol } from '../proxy.ts';
import type { CandidateSink } from './candidate-sink.ts';
import { protocolNamed } from './source.ts';

type Fields = Record<string, unknown>;

/** Names of the address field, the most complete first: `proxy` holds scheme and port, `ip` sometimes the port. */
export const ADDRESS_FIELDS = [
  'proxy',
  'ip',
  'query',
  'host',
  'ip_address',
  'ip address',
  'address',
  'addr',
  'proxy_address',
];
const COUNTRY_FIELDS = [
  'country_code',
  'countryCode',
  'countrycode',
  'iso_code',
  'isocode',
  'code',
  'cc',
  'country',
];
const USER_FIELDS = ['username', 'user', 'login'];
const PASSWORD_FIELDS = ['password', 'pass'];
/** Nested objects in which lists describe the address. */
const NESTED_FIELDS = ['geolocation', 'ip_data', 'location', 'geo'];

const MOST_PORTS = 64;

/**
 * Takes a proxy described by named fields, in any of the shapes that lists use. Returns false if there is no address.
 */
export function takeRecord(fields: Fields, sink: CandidateSink, isWhole = true): boolean {
  const address = textOf(ADDRESS_FIELDS.map((name) => fields[name]).find((value) => textOf(value) !== ''));
  if (address === '') return false;
  const port = textOf(fields.port);
  const country = countryOf(fields);
  const said = fields.protocols ?? fields.protocol;
  if (isWhole && Array.isArray(said) && isRecord(said[0])) {
    // One address with several ports: `protocols: [{ type, port }]`.
    const common = { ip: address, port, country, ...loginIn(fields) };
    for (const part of said.slice(0, MOST_PORTS).filter(isRecord))
      takeRecord({ ...common, ...part }, sink, false);
    return true;
  }
  const protocols = protocolsIn(said ?? fields.type);
  const foreign = protocols.length === 0 && textOf(Array.isArray(said) ? said[0] : said) !== '';
  const login = loginIn(fields);
  if (foreign || !sink.parts(address, port, { protocols, country, login })) sink.reject();
  return true;
}

/**
 * Takes a proxy from unnamed cells, as in a table: the address in one cell, with the port in it or in the
 * next, a protocol in any, and a country code in a later one. Returns false if there is no address.
 */
export function takeCells(cells: readonly string[], sink: CandidateSink): boolean {
  const protocols: Protocol[] = [];
  for (const cell of cells) {
    for (const protocol of protocolsIn(cell)) {
      if (!protocols.includes(protocol)) protocols.push(protocol);
    }
  }
  for (const [i, cell] of cells.entries()) {
    if (!/^['"\d[]|:/.test(cell)) continue;
    const country = cells.slice(i + 1).find(isCountryCode) ?? null;
    if (sink.parts(cell, cells[i + 1] ?? '', { protocols, country })) return true;
  }
  return false;
}

const NONE: readonly Protocol[] = [];

function protocolsIn(value: unknown): readonly Protocol[] {
  if (typeof value === 'string' && !/[,;|/ ]/.test(value)) {
    const protocol = protocolNamed(value);
    return protocol ? [protocol] : NONE;
  }
  const words = Array.isArray(value) ? value.map(textOf) : textOf(value).split(/[\s,;|/]+/, 8);
  return [...new Set(words.flatMap((word) => protocolNamed(word) ?? []))];
}

function loginIn(fields: Fields): LoginParts | null {
  const first = (names: readonly string[]) => names.map((name) => textOf(fields[name])).find(Boolean) ?? '';
  const user = first(USER_FIELDS);
  return user === '' ? null : { user, password: first(PASSWORD_FIELDS) };
}

function countryOf(fields: Fields): string | null {
  for (const name of COUNTRY_FIELDS) {
    const value = fields[name];
    const code = isRecord(value) ? textOf(value.iso_code ?? value.code) : textOf(value);
    if (isCountryCode(code.toUpperCase())) return code.toUpperCase();
  }
  for (const name of NESTED_FIELDS) {
    const value = fields[name];
    const country = isRecord(value) ? countryOf(value) : null;
    if (country) return country;
  }
  return null;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}
