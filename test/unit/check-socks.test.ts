import { expect, test } from 'bun:test';
import type { Connection } from '../../src/proxy/check/connection.ts';
import { Inbox } from '../../src/proxy/check/inbox.ts';
import { connectSocks4, connectSocks5, ipv6Bytes } from '../../src/proxy/check/socks.ts';

/** A connection on which the given bytes arrive, and nothing after them. */
function scripted(bytes: number[]) {
  const written: number[] = [];
  const inbox = new Inbox();
  inbox.add(Buffer.from(bytes));
  const connection: Pick<Connection, 'write' | 'take'> = {
    write: (data) => void written.push(...Buffer.from(data)),
    *take(count) {
      for (;;) {
        const taken = inbox.take(count);
        if (taken) return taken;
        yield;
      }
    },
  };
  const rest = () => {
    inbox.ended = true;
    return [...(inbox.rest(1024) ?? [])];
  };
  return { connection: connection as Connection, written, rest };
}

const GRANTED_4 = [0, 90, 0, 0, 0, 0, 0, 0];
const GRANTED_5 = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

test('SOCKS4 is asked for the IPv4 address', () => {
  const { connection, written } = scripted([...GRANTED_4]);
  connectSocks4(connection, { host: 'judge.test', address: '203.0.113.9', port: 8080 }).next();
  expect(written).toEqual([4, 1, 31, 144, 203, 0, 113, 9, 0]);
});

test('SOCKS4 is asked for the name where there is no IPv4 address', () => {
  for (const address of [null, '2001:db8::7']) {
    const { connection, written } = scripted([...GRANTED_4]);
    connectSocks4(connection, { host: 'j.test', address, port: 80 }).next();
    expect(written).toEqual([4, 1, 0, 80, 0, 0, 0, 1, 0, ...Buffer.from('j.test'), 0]);
  }
});

test('SOCKS5 is asked for an IPv4 address, an IPv6 address or a name', () => {
  const asked = (address: string | null) => {
    const { connection, written } = scripted([...GRANTED_5]);
    connectSocks5(connection, { host: 'j.test', address, port: 443 }).next();
    return written;
  };
  expect(asked('203.0.113.9')).toEqual([5, 1, 0, 1, 203, 0, 113, 9, 1, 187]);
  expect(asked('2001:db8::7')).toEqual([5, 1, 0, 4, 32, 1, 13, 184, ...new Array(11).fill(0), 7, 1, 187]);
  expect(asked(null)).toEqual([5, 1, 0, 3, 6, ...Buffer.from('j.test'), 1, 187]);
});

test('of a SOCKS5 reply exactly its own bytes are read', () => {
  const tail = [72, 84];
  for (const reply of [
    GRANTED_5,
    [5, 0, 0, 4, ...new Array(18).fill(1)],
    [5, 0, 0, 3, 2, 1, 1, 1, 1],
    [5, 0, 0, 3, 0, 1, 1],
  ]) {
    const { connection, rest } = scripted([...reply, ...tail]);
    connectSocks5(connection, { host: 'j.test', address: null, port: 443 }).next();
    expect(rest()).toEqual(tail);
  }
});

test('the bytes of an IPv6 address', () => {
  expect(ipv6Bytes('::')).toEqual(new Array(16).fill(0));
  expect(ipv6Bytes('::1')).toEqual([...new Array(15).fill(0), 1]);
  expect(ipv6Bytes('fe80::')).toEqual([254, 128, ...new Array(14).fill(0)]);
  expect(ipv6Bytes('1:2:3:4:5:6:7:8')).toEqual([0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]);
});
