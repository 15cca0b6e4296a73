import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A name server that knows no name. */
export interface NameServer {
  address: string;
  /** Questions that it has left without an answer. */
  unanswered(): number;
  close(): void;
}

const HEADER_BYTES = 12;
/** Set in the third and fourth byte of an answer: it is one, recursion is there, and there is no such name. */
const ANSWER = 0x80;
const NO_SUCH_NAME = 0x83;

/**
 * Starts a name server on an address of loopback, for which the user must be root. It answers each question once, with "no
 * such name"; asked again, it is silent, as servers are that answer so many questions in a second and no more.
 */
export async function startNameServer(address: string): Promise<NameServer> {
  const socket = createSocket('udp4');
  const seen = new Set<string>();
  let unanswered = 0;
  socket.on('message', (message, from) => {
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
  return { address, unanswered: () => unanswered, close: () => socket.close() };
}
