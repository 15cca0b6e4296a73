/** What a conversion is for. */
export type Purpose = 'upload' | 'version';

/** A waiting job. */
export interface Queued {
  /** Whose budget it uses: a network, or the name of a token. */
  client: string;
  purpose: Purpose;
  /** CPU time that it is expected to take, in ms. */
  price: number;
}

/** CPU time that a client gains in each round, in ms: about one small picture. */
const QUANTUM_MS = 50;
/** While both kinds wait, one in this many jobs is a version: uploads go first, and versions still progress. */
const VERSION_EVERY = 4;

interface Client<T> {
  /** CPU time that it may use before the next round; negative if its jobs took longer than their price. */
  credit: number;
  upload: T[];
  version: T[];
}

/**
 * A queue in which each client gets the same share of the processor, however many jobs it has.
 * Deficit round robin (Shreedhar and Varghese, 1995) over expected CPU time, which `charge` corrects afterwards: a
 * client whose jobs look cheap and are not waits longer next time.
 */
export function createFairQueue<T extends Queued>() {
  /** In the order of their turns. */
  const clients = new Map<string, Client<T>>();
  let taken = 0;

  function clientOf(name: string): Client<T> {
    let found = clients.get(name);
    if (!found) {
      found = { credit: 0, upload: [], version: [] };
      clients.set(name, found);
    }
    return found;
  }

  function waitingOf(name: string): T[] {
    const { upload = [], version = [] } = clients.get(name) ?? {};
    return [...upload, ...version];
  }

  const all = () => [...clients.keys()].flatMap(waitingOf);

  /** Clients without waiting work keep no credit. Debts are kept while anyone waits. */
  function settle(name: string, client: Client<T>): void {
    if (client.upload.length + client.version.length > 0) return;
    if (client.credit >= 0) clients.delete(name);
    if (all().length === 0) clients.clear();
  }

  /** A debt is paid off in the rounds that its client skips. */
  function payOff(ms: number): void {
    for (const [name, client] of clients) {
      if (client.upload.length + client.version.length > 0) continue;
      client.credit += ms;
      if (client.credit >= 0) clients.delete(name);
    }
  }

  function takeFor(purpose: Purpose, allowed: (item: T) => boolean): T | undefined {
    const candidates = [...clients].flatMap(([name, client]) => {
      const item = client[purpose].find(allowed);
      if (!item) return [];
      const rounds = Math.ceil(Math.max(0, item.price - client.credit) / QUANTUM_MS);
      return [{ name, client, item, rounds }];
    });
    const fewest = Math.min(...candidates.map(({ rounds }) => rounds));
    const next = candidates.find(({ rounds }) => rounds === fewest);
    if (!next) return undefined;
    for (const { client } of candidates) client.credit += fewest * QUANTUM_MS;
    payOff(fewest * QUANTUM_MS);
    const { name, client, item } = next;
    client.credit -= item.price;
    client[purpose].splice(client[purpose].indexOf(item), 1);
    // Another client is next, unless this one has more credit left.
    clients.delete(name);
    clients.set(name, client);
    settle(name, client);
    taken++;
    return item;
  }

  return {
    push: (item: T) => void clientOf(item.client)[item.purpose].push(item),

    /** Puts an item back to the front of its client's queue, and refunds its price. */
    putBack(item: T): void {
      const client = clientOf(item.client);
      client[item.purpose].unshift(item);
      client.credit += item.price;
    },

    /** Takes the next allowed item, or returns `undefined` if there is none. */
    take(allowed: (item: T) => boolean): T | undefined {
      const first = taken % VERSION_EVERY === VERSION_EVERY - 1 ? 'version' : 'upload';
      return takeFor(first, allowed) ?? takeFor(first === 'upload' ? 'version' : 'upload', allowed);
    },

    /** Removes a waiting item. Returns false if it does not wait. */
    remove(item: T): boolean {
      const client = clients.get(item.client);
      const place = client?.[item.purpose].indexOf(item) ?? -1;
      if (!client || place < 0) return false;
      client[item.purpose].splice(place, 1);
      settle(item.client, client);
      return true;
    },

    /** Charges a client for what a job took beyond its price, or refunds what it did not take. */
    charge(name: string, ms: number): void {
      if (all().length === 0) return;
      const client = clientOf(name);
      client.credit -= ms;
      settle(name, client);
    },

    /** Number of waiting items, of one client or of all. */
    count: (client?: string) => (client === undefined ? all() : waitingOf(client)).length,
    /** Total price of all waiting items, in ms. */
    price: () => sum(all()),

    /** CPU time, in ms, that is due before one more job of that client and price. */
    ahead(client: string, price: number): number {
      const own = sum(waitingOf(client)) + price;
      // While this client takes its turns, each of the others gets as much, or all that it wants.
      const others = [...clients.keys()].filter((name) => name !== client);
      return own - price + others.reduce((total, name) => total + Math.min(own, sum(waitingOf(name))), 0);
    },

    /** The last item of the client with the most waiting work. */
    surplus(): T | undefined {
      const [most] = [...clients.keys()].sort((a, b) => sum(waitingOf(b)) - sum(waitingOf(a)));
      return most === undefined ? undefined : waitingOf(most).at(-1);
    },

    /** Takes everything. */
    drain(): T[] {
      const items = all();
      clients.clear();
      return items;
    },
  };
}

function sum(items: readonly Queued[]): number {
  return items.reduce((total, { price }) => total + price, 0);
}
