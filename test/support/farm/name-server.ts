import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;
/** Returns the answer to a question for a known name: its address, or none for other types than A. */
function addressIn(message: Buffer, names: Readonly<Record<string, string>>): Buffer | null {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let size = message.readUInt8(at); size > 0; size = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  const address = names[labels.join('.').toLowerCase()];
  if (address === undefined) return null;
  const isA = message.readUInt16BE(at + 1) === 1;
  const question = Buffer.from(message.subarray(0, at + 5));
  question.writeUInt8(question.readUInt8(2) | ANSWER, 2);
  question.writeUInt8(0x80, 3);
  question.writeUInt16BE(isA ? 1 : 0, 6);
  question.writeUInt32BE(0, 8);
  const record = [0xc0, HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)];
  return isA ? Buffer.concat([question, Buffer.from(record)]) : question;
}

/** Set in the third and fourth byte of an answer: it is one, recursion is there, and there is no such name. */
const ANSWER = 0x80;
const NO_SUCH_NAME = 0x83;

/**
 * Starts a name server that knows few names on an address of loopback, for which the user must be root. It answers each question
 * once, with "no such name"; asked again, it is silent, as servers are that answer so many questions in a second and no more.
 */
export async function startNameServer(address: string, names: Readonly<Record<string, string>> = {}) {
  const socket = createSocket('udp4');
  const seen = new Set<string>();
  let unanswered = 0;
  socket.on('message', (message, from) => {
    const known = addressIn(message, names);
    if (known) return void socket.send(known, from.port, from.address);
    const question = message.subarray(HEADER_BYTES).toString('latin1').toLowerCase();
    if (seen.has(question)) return void unanswered++;
    seen.add(question);
    const answer = Buffer.from(message);
    answer.writeUInt8(answer.readUInt8(2) | ANSWER, 2);
    answer.writeUInt8(NO_SUCH_NAME, 3);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(53, address);
  await once(socket, 'listening');
  return {
    address,
    /** Questions that it has left without an answer. */
    unanswered: () => unanswered,
    close: () => socket.close(),
  };
}

export type NameServer = Awaited<ReturnType<typeof startNameServer>>;

/** Runs the command behind it where the name servers of this file are those of the system. Only root may. */
export const withNameServers = (file: string) => [
  ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c'],
  ...['mount --bind "$0" /etc/resolv.conf && exec "$@"', file],
];
