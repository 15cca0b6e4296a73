import { connect } from 'node:net';

export interface Heard {
  text: string;
  /** `FIN`, the code of a fault, or `close` where there was neither. */
  end: string;
}

/** Sends this, and returns all that came back and how the connection ended. `half`: ends its half at once. */
export function talk({ port }: { readonly port: number }, bytes: string, half = false): Promise<Heard> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    let end = 'close';
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1');
    });
    socket.on('end', () => {
      end = 'FIN';
      socket.end();
    });
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      end = code;
    });
    socket.on('close', () => resolve({ text, end }));
    if (half) socket.end(bytes);
    else socket.write(bytes);
  });
}
