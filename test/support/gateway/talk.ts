import { connect } from 'node:net';

/**
 * Sends this, and returns all that came back and how the connection ended: `FIN`, the code of a fault, or `close` where there was
 * neither. `half`: ends its half at once.
 */
export function talk({ port }: { readonly port: number }, bytes: string, half = false) {
  return new Promise<{ text: string; end: string }>((resolve) => {
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
