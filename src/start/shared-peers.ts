import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { Environment } from '../config.ts';
import { canonicalAddress } from '../lib/address.ts';
import { socketPath } from './listen.ts';

/** Files that container engines create in each container. */
const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv'];

/** Reads a file; `null` if it does not exist, `undefined` if nobody may know, as on Deno without permission. */
type ReadText = (path: string) => Promise<string | null | undefined>;

/**
 * Finds addresses that many visitors may share although no header says so: a router that forwards ports replaces
 * their addresses with its own, and so does a container engine, which shows its gateway, loopback, or the container
 * itself. What Deno forbids to read is guessed, because a shared address that counts as a person's lets strangers delete
 * each other's pictures.
 */
export async function findSharedPeers(
  host: string,
  env: Environment,
  readText: ReadText = readIfAllowed,
): Promise<ReadonlySet<string>> {
  const gateways = await defaultGateways(readText);
  const isWide = socketPath(host) === null && !['127.0.0.1', '::1', 'localhost'].includes(host);
  const isInside = isWide && (await isContained(env, readText));
  const shared = new Set(gateways);
  for (const { address, cidr, internal } of Object.values(networkInterfaces()).flatMap((all) => all ?? [])) {
    if (isInside) shared.add(canonicalAddress(address) ?? address);
    if (cidr?.includes('.') && (isInside || (!gateways && !internal))) shared.add(firstOf(cidr));
  }
  return shared;
}

/** Reports whether this is a container, whose own addresses are not those under which others reach it. */
async function isContained(env: Environment, readText: ReadText): Promise<boolean> {
  if (env.KUBERNETES_SERVICE_HOST !== undefined || env.container !== undefined) return true;
  const marks = await Promise.all(CONTAINER_MARKS.map(readText));
  return marks.some((mark) => mark !== null);
}

/** Linux lists its routes with IPv4 in hexadecimal, last byte first. Returns `null` if nobody may read them. */
async function defaultGateways(readText: ReadText): Promise<string[] | null> {
  const [four, six] = await Promise.all(['/proc/net/route', '/proc/net/ipv6_route'].map(readText));
  if (four === undefined) return null;
  const gateways = [
    ...[...(four ?? '').matchAll(/^\S+\t00000000\t([0-9A-F]{8})\t/gm)].map(([, hex = '']) =>
      [...Buffer.from(hex, 'hex')].reverse().join('.'),
    ),
    ...[...(six ?? '').matchAll(/^0{32} 00 \S+ \S+ ([0-9a-f]{32}) /gm)].map(([, hex = '']) =>
      (hex.match(/.{4}/g) ?? []).join(':'),
    ),
  ];
  return gateways
    .map((text) => canonicalAddress(text))
    .filter((address) => address !== null && address !== '0.0.0.0' && address !== '::')
    .map(String);
}

/** Returns the first address of an IPv4 network, which engines give to its gateway. */
function firstOf(cidr: string): string {
  const [address = '', length = '32'] = cidr.split('/');
  const bits = address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const size = 2 ** (32 - Number(length));
  const first = Math.floor(bits / size) * size + 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.');
}

const readIfAllowed: ReadText = (path) =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? null : undefined,
  );
