import type { NetworkInterfaceInfo } from 'node:os';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Networks that only exist on this machine: of containers, virtual machines and tunnels. */
const VIRTUAL = /^(br-|cni|docker|lxc|lxd|podman|tailscale|tap|tun|utun|vbox|veth|virbr|vmnet|wg|zt)/;

/** Private networks of homes and offices, the most common first. */
const PRIVATE = [/^192\.168\./, /^10\./, /^172\.(1[6-9]|2\d|3[01])\./];

/** Returns the address at which other devices in the same network most likely reach this machine, or `null`. */
export function lanAddress(interfaces: Interfaces): string | null {
  const addresses = Object.entries(interfaces)
    .filter(([name]) => !VIRTUAL.test(name))
    .flatMap(([, found = []]) => found)
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('169.254.'));
  const rank = (address: string) => {
    const place = PRIVATE.findIndex((network) => network.test(address));
    return place < 0 ? PRIVATE.length : place;
  };
  return addresses.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}
