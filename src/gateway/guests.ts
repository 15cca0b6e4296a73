import { canonicalAddress, clientNetwork } from '../lib/address.ts';
import type { LoginParts } from '../proxy/login.ts';
import { NOBODY, type TcpListener, type TcpSocket } from '../runtime/tcp.ts';
import type { Admit } from './admission.ts';
import { Client } from './client.ts';
import type { Desk } from './desk.ts';

interface GuestsOptions {
  desk: Desk;
  admit: Admit;
  /** Maximum number of connections. */
  connections: number;
  /** Maximum lifetime of a connection. */
  lifetimeMs: number;
}

/** All connections of clients. */
export interface Guests {
  /** `fixed`: options of the port, which take precedence. */
  accept(socket: TcpSocket, fixed?: string): TcpListener;
  /** Ends those that are too old or keep the gateway waiting. */
  sweep(now: number): void;
  /** Ends those whose token was revoked. */
  dropRevoked(): void;
  close(): void;
}

/** Maximum number of connections of a network whose users are not known yet. */
const MOST_STRANGERS = 1_024;

export function createGuests({ desk, admit, connections, lifetimeMs }: GuestsOptions): Guests {
  const clients = new Set<Client>();
  /** Connections of which no user is known, by network. */
  const strangers = new Map<string, number>();

  return {
    accept(socket, fixed) {
      // Behind an address of IPv6, those of IPv4 are spelled `::ffff:203.0.113.9`.
      const peer = canonicalAddress(socket.peer) ?? socket.peer;
      const network = clientNetwork(peer);
      const alike = strangers.get(network) ?? 0;
      if (clients.size >= connections || alike >= MOST_STRANGERS) {
        socket.destroy();
        return NOBODY;
      }
      const onKnown = () => {
        const left = (strangers.get(network) ?? 0) - 1;
        if (left > 0) strangers.set(network, left);
        else strangers.delete(network);
      };
      const onGone = () => {
        clients.delete(client);
        if (!client.isAdmitted) onKnown();
        desk.meter.closed();
      };
      const admitHere = (login: LoginParts | null) => admit(login, peer, fixed);
      const client = new Client({ socket, desk, admit: admitHere, onAdmitted: onKnown, onGone });
      strangers.set(network, alike + 1);
      clients.add(client);
      desk.meter.opened();
      return client;
    },

    sweep(now) {
      for (const client of clients) {
        // Those with a carrier were cut with it.
        if (now - client.startedAt > lifetimeMs) client.socket.destroy();
        else client.look(now);
      }
    },

    dropRevoked() {
      const asked = new Map<string, Promise<boolean>>();
      for (const client of clients) client.dropIfRevoked(asked);
    },

    close() {
      for (const client of clients) client.socket.destroy();
    },
  };
}
