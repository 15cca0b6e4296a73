import { createServer, type Socket } from 'node:net';
import type { Certificates } from '../certificates.ts';
import { listening, stopperOf } from '../servers/listening.ts';
import { farmClient } from './client.ts';
import { FORGING_ROLES } from './forgers.ts';
import { HONEST_ROLES } from './honest.ts';
import { startJudge } from './judge-server.ts';
import { LYING_ROLES } from './liars.ts';
import type { Role } from './role.ts';

/** Every way to behave, by name. The order gives each its network. */
export const ROLES = { ...HONEST_ROLES, ...LYING_ROLES, ...FORGING_ROLES };
export type RoleName = keyof typeof ROLES;

const NAMES = Object.keys(ROLES) as RoleName[];

/** The role with index i lives in 127.(i + 16).0.0/16. */
const FIRST_NETWORK = 16;

/** The n-th address of a role, whichever farm it belongs to. */
export function farmAddress(role: RoleName, n = 0): string {
  return `127.${NAMES.indexOf(role) + FIRST_NETWORK}.${(n + 1) >> 8}.${(n + 1) & 255}`;
}

/**
 * Thousands of proxies behind one listener: all of 127.0.0.0/8 is this machine, and the dialled address tells
 * which proxy is meant. Certificates are needed only for the roles that abuse them.
 */
export async function startFarm(certificates?: Certificates, port = 0) {
  const stats = new Map(NAMES.map((name) => [name, { accepted: 0, open: 0 }]));
  const waiting = new Map<RoleName, (() => void)[]>();
  const tlsServers = certificates && {
    wrongHost: await startJudge({ tls: certificates.wrongHost }),
    expired: await startJudge({ tls: certificates.expired }),
    selfSigned: await startJudge({ tls: certificates.selfSigned }),
  };

  const server = createServer((socket) => {
    const octets = (socket.localAddress ?? '').replace('::ffff:', '').split('.');
    const name = NAMES[Number(octets[1]) - FIRST_NETWORK];
    const counted = name && stats.get(name);
    if (!name || !counted) return void socket.destroy();
    counted.accepted++;
    counted.open++;
    socket.on('close', () => {
      if (--counted.open > 0) return;
      for (const resolve of waiting.get(name)?.splice(0) ?? []) resolve();
    });
    void play(ROLES[name], socket);
  });

  async function play(role: Role, socket: Socket): Promise<void> {
    const client = farmClient(socket, (name) => tlsServers?.[name].port ?? 1);
    try {
      await role.play(client);
    } catch {
      socket.destroy();
    }
  }

  const stop = stopperOf(server);
  const bound = await listening(server, '0.0.0.0', port);
  // Held on one address, so that no other program opens the port on the farm's.
  const holder = createServer((socket) => socket.destroy());
  const closedPort = await listening(holder);

  return {
    port: bound,
    /** A port on which none of the farm's addresses listens. */
    closedPort,
    /** The n-th proxy of the role, n from 0 to 65,000. */
    address: farmAddress,
    endpoint: (role: RoleName, n?: number) => ({
      protocol: ROLES[role].protocol,
      ip: farmAddress(role, n),
      port: bound,
    }),
    stats: (role: RoleName) => ({ accepted: 0, open: 0, ...stats.get(role) }),
    /** Resolves when no connection to the role stands any more. */
    drained: (role: RoleName) =>
      new Promise<void>((resolve) => {
        if ((stats.get(role)?.open ?? 0) === 0) return resolve();
        waiting.set(role, [...(waiting.get(role) ?? []), resolve]);
      }),
    async stop() {
      await Promise.all([stop(), new Promise((done) => holder.close(done))]);
      await Promise.all(Object.values(tlsServers ?? {}).map((one) => one.stop()));
    },
  };
}

export type Farm = Awaited<ReturnType<typeof startFarm>>;
