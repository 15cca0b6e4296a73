import { createHash } from 'node:crypto';
import { startBareGateway } from '../support/gateway/bare.ts';
import { between, chance, happens, oneOf, resetChance, whole } from './chance.ts';
import { createReader, type Message, mutated, request, response, SMUGGLED } from './messages.ts';
import { later, passUntil, pending, resetTime, SECOND, trueTime } from './time.ts';
import { createWires, type WireEnd } from './wires.ts';
import type { Result } from './world.ts';

const LATIN = 'latin1';

/** What a seed decides about what passes a gateway. */
export interface ByteOptions {
  clients: number;
  /** The proxies behind it do as they should, so that every good request must be answered. */
  tame: boolean;
  /** Share of clients whose bytes are changed. */
  odd: number;
  /** How often a write fills the buffer of the system, which lets the other side be read again later. */
  full: number;
}

interface Client {
  text: string;
  methods: string[];
  isOdd: boolean;
  /** How it ends what it sends. */
  way: 'stays' | 'ends' | 'cuts' | 'resets';
  end: WireEnd;
  /** What it got that is not HTTP. */
  bad: string;
  read: ReturnType<typeof createReader>;
}

/** The end of the targets of clients that send more than is read ahead. */
const LONG = 'x'.repeat(500);
const PORTS = [1001, 1002, 1003];

/**
 * Sends good and bad HTTP through a gateway, whose sockets are in memory, from clients that come and go as they like to proxies that answer as
 * they like. An independent parser reads what arrives on both sides.
 */
export async function runBytes(
  seed: number,
  changes: Partial<ByteOptions> = {},
): Promise<Result<ByteOptions>> {
  resetTime();
  resetChance(seed);
  const options: ByteOptions = {
    clients: 40,
    tame: happens(0.5),
    odd: happens(0.3) ? 0 : 0.5,
    full: happens(0.5) ? 0 : 0.05,
    ...changes,
  };
  const begin = trueTime();
  const broken = new Set<string>();
  const trace: string[] = [];
  const tell = (line: string) => void trace.push(`${((trueTime() - begin) / SECOND).toFixed(4)} ${line}`);
  /** Bodies that were answered for a request as a whole, by the last part of its target; `null`: an odd answer. */
  const answered = new Map<string, (string | null)[]>();
  const upstreams: WireEnd[] = [];
  /** Requests as they arrived at proxies. */
  const arrived: Message[] = [];
  let inputs = 0;

  function serve(end: WireEnd): void {
    upstreams.push(end);
    let isBad = false;
    const early = new Set<Message>();
    const onWhole = (message: Message) => {
      arrived.push(message);
      if (!early.has(message)) answer(end, message);
    };
    // Some answer before they have read the body.
    const reader = createReader('request', [], onWhole, (message) => {
      if (!happens(0.1)) return;
      early.add(message);
      answer(end, message);
    });
    end.listener = {
      opened() {},
      received(bytes) {
        tell(`at proxy: ${textOf(bytes)}`);
        if (reader.read(bytes) || isBad) {
          // A method that it does not know.
          if (reader.isBroken() && !isBad) end.destroy();
          return;
        }
        isBad = true;
        // What turned out to be wrong only after its beginning was sent is reset at once.
        later(SECOND, () => {
          if (!end.isClosed) broken.add(`a proxy gets what is not HTTP: ${textOf(bytes)}`);
        });
      },
      drained() {},
      ended: () => end.end(),
      closed() {},
    };
  }

  function answer(end: WireEnd, { start }: Message): void {
    inputs++;
    const [method = '', target = ''] = start.split(' ');
    const name = target.split('/').at(-1) ?? '';
    const given = answered.get(name) ?? [];
    answered.set(name, given);
    const { text, body, untilClose } = response(method, !name.endsWith(LONG));
    const fate = options.tame ? 1 : chance();
    if (fate < 0.03) end.destroy();
    if (fate < 0.05) return;
    if (fate < 0.2) {
      given.push(null);
      end.write(Buffer.from(mutated(text), LATIN));
      if (happens(0.5)) end.end();
      return;
    }
    if (fate < 0.35) {
      // Without its last byte at least. Only a reset shows that a body until the end is cut.
      end.write(Buffer.from(text.slice(0, Math.floor(between(0, text.length))), LATIN));
      if (untilClose || happens(0.5)) end.destroy();
      else end.end();
      return;
    }
    given.push(body);
    end.write(Buffer.from(text, LATIN));
    if (untilClose) end.end();
  }

  const { tcp, connect } = createWires((port) => (PORTS.includes(port) ? serve : null), options.full);
  const gateway = await startBareGateway({
    tcp,
    proxies: PORTS.map((port) => `203.0.113.${port - 1000}:${port}`),
    limits: { random: chance, timeoutMs: 10 * SECOND, idleMs: 60 * SECOND },
  });
  const clients = Array.from({ length: options.clients }, (_, index) => startClient(index));

  function startClient(index: number): Client {
    inputs++;
    const many = happens(0.01) ? whole(200, 500) : whole(1, 4);
    const requests = Array.from({ length: many }, (_, number) =>
      request(`${index}-${number}${many > 9 ? LONG : ''}`),
    );
    const text = requests.map((one) => one.text).join('');
    const isOdd = happens(options.odd);
    const methods = requests.map(({ method }) => method);
    const client: Client = {
      text: isOdd ? mutated(text) : text,
      methods,
      isOdd,
      bad: '',
      way: oneOf(['stays', 'stays', 'ends', 'ends', 'cuts', 'resets']),
      read: createReader('response', methods, (message) => check(client, message)),
      end: connect({
        opened() {},
        received(bytes) {
          tell(`at client ${index}: ${textOf(bytes)}`);
          if (!client.read.read(bytes)) client.bad ||= textOf(bytes);
        },
        drained() {},
        ended: () => client.end.end(),
        closed(fault) {
          // Who resets the connection himself has seen no end of it.
          if (fault === null && client.way !== 'resets') client.read.end();
          // What answers an odd request may not be an answer to what it was meant to be.
          if (fault === null && client.bad !== '' && !isOdd) {
            broken.add(`client ${index} gets what is not HTTP: ${client.bad}`);
          }
        },
      }),
    };
    const sent = client.way === 'cuts' || client.way === 'resets' ? cutOf(client.text) : client.text;
    const write = (text: string) => client.end.write(Buffer.from(text, LATIN));
    const finish = (rest: string) => {
      write(rest);
      if (client.way === 'ends' || client.way === 'cuts') client.end.end();
      if (client.way === 'resets') client.end.destroy();
    };
    // Some wait for a moment before they send the rest.
    const first = happens(0.3) ? oneOf([cutOf, headOf])(sent) : '';
    if (first === '') finish(sent);
    else {
      write(first);
      later(between(0, 200), () => finish(sent.slice(first.length)));
    }
    return client;
  }

  /** A good answer to a good request is one that was given, from its first byte to its last. */
  function check(client: Client, { start, body }: Message): void {
    if (client.isOdd || start !== '200') return;
    const number =
      client.read.messages.filter((message) => message.isWhole && Number(message.start) >= 200).length - 1;
    const name = targetOf(client, number);
    const given = answered.get(name) ?? [];
    if (client.methods[number] === 'HEAD' || given.includes(body) || given.includes(null)) return;
    broken.add(
      `${name} is answered ${JSON.stringify(body.slice(0, 80))}, which nobody has answered as a whole`,
    );
  }

  await passUntil(begin + 3 * SECOND);
  for (const [index, { way, isOdd, methods, end }] of options.tame ? clients.entries() : []) {
    // Nobody will ever complete its last request.
    if (way === 'cuts' && !isOdd && methods.length < 9 && !end.isClosed)
      broken.add(`client ${index}, which has left, is kept`);
  }
  await passUntil(begin + 45 * SECOND);
  if (options.tame) for (const [index, client] of clients.entries()) expectAnswers(index, client);
  for (const { end } of clients) end.destroy();
  await passUntil(begin + 200 * SECOND);
  if (gateway.open() > 0) broken.add(`${gateway.open()} connections of clients stay`);
  const left = upstreams.filter(({ isClosed }) => !isClosed).length;
  if (left > 0) broken.add(`${left} connections to proxies stay`);
  checkArrivals();
  await gateway.stop();
  await passUntil(trueTime() + 86_400 * SECOND);
  if (pending() > 0) broken.add(`${pending()} timers stay`);
  const hash = createHash('sha256').update(trace.join('\n')).digest('hex').slice(0, 12);
  return { seed, options, broken: [...broken], trace, hash, made: inputs };

  function expectAnswers(index: number, client: Client): void {
    const { way, isOdd, methods, read, end } = client;
    const isOver = way === 'ends' || way === 'cuts';
    if (isOver && !end.isClosed)
      broken.add(`client ${index}, which has ended, is not let go (${way}${isOdd ? ', odd' : ''})`);
    if (isOdd || way === 'cuts' || way === 'resets') return;
    const got = read.messages.filter(({ isWhole, start }) => isWhole && start === '200').length;
    if (got !== methods.length && read.messages.at(-1)?.keepsAlive !== false)
      broken.add(`client ${index} (${way}) has ${got} answers to ${methods.length} requests`);
  }

  /** What arrived is what the clients sent, as the independent parser reads that. */
  function checkArrivals(): void {
    const sent = new Set<string>();
    const left = new Map<string, number>();
    let isKnown = true;
    for (const { text } of clients) {
      const reader = createReader('request', [], ({ start, body }) => {
        sent.add(keyOf(start, body));
        left.set(nameOf(start), (left.get(nameOf(start)) ?? 0) + 1);
      });
      isKnown = reader.read(Buffer.from(text, LATIN)) && isKnown;
    }
    if (!isKnown) return;
    for (const { start, body } of arrived) {
      if (!sent.has(keyOf(start, body)))
        broken.add(`a proxy gets ${start} with ${JSON.stringify(body.slice(0, 80))}, which nobody sent`);
      if (start.endsWith(SMUGGLED)) broken.add('a body is taken for a request');
      const name = nameOf(start);
      const count = left.get(name) ?? Number.POSITIVE_INFINITY;
      if (count === 0 && !/^(GET|HEAD) /.test(start)) broken.add(`${start} is sent more than once`);
      left.set(name, Math.max(0, count - 1));
    }
  }
}

const textOf = (bytes: Uint8Array) => JSON.stringify(Buffer.from(bytes).toString(LATIN).slice(0, 200));
const keyOf = (start: string, body: string) => `${start.split(' ')[0]} ${body}`;
/** All before the first body. */
const headOf = (text: string) => text.slice(0, text.indexOf('\r\n\r\n') + 4);
/** Method and the last part of the target. */
const nameOf = (start: string) => `${start.split(' ')[0]} ${start.split('/').at(-1)}`;
const cutOf = (text: string) => text.slice(0, Math.floor(between(0, text.length)));

function targetOf({ text }: Client, number: number): string {
  const [, target = ''] =
    [...text.matchAll(/(?:GET|HEAD|POST|PUT|DELETE) (http:\S+) HTTP\/1\.1\r\n/g)][number] ?? [];
  return target.split('/').at(-1) ?? '';
}
