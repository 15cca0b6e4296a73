import { expect, test } from 'bun:test';
import { connectSocks4, connectSocks5, greetSocks5, ipv6Bytes } from '../../src/proxy/check/socks.ts';

test('SOCKS4 is asked for the name if there is no IPv4 address', () => {
  for (const address of [null, '2001:db8::7']) {
    const { say } = connectSocks4({ host: 'j.test', address, port: 80 });
    expect([...Buffer.from(say)]).toEqual([4, 1, 0, 80, 0, 0, 0, 1, 0, ...Buffer.from('j.test'), 0]);
  }
});

test('SOCKS4 gets the user name of the login as its user ID', () => {
  const { say } = connectSocks4({ host: 'j.test', address: '203.0.113.9', port: 8080 }, 'me:secret');
  expect([...Buffer.from(say)]).toEqual([4, 1, 31, 144, 203, 0, 113, 9, ...Buffer.from('me'), 0]);
});

test('SOCKS5 gets a login once it has asked for one', () => {
  const [greeting, login] = greetSocks5('me:s:é');
  expect([...Buffer.from(greeting?.say ?? '')]).toEqual([5, 1, 2]);
  const password = Buffer.from('s:é');
  expect([...Buffer.from(login?.say ?? '')]).toEqual([1, 2, 109, 101, password.length, ...password]);
  expect(greetSocks5()).toHaveLength(1);
});

test('SOCKS5 is asked for an IPv4 address, an IPv6 address or a name', () => {
  const asked = (address: string | null) => [
    ...Buffer.from(connectSocks5({ host: 'j.test', address, port: 443 }).say),
  ];
  expect(asked('203.0.113.9')).toEqual([5, 1, 0, 1, 203, 0, 113, 9, 1, 187]);
  expect(asked('2001:db8::7')).toEqual([5, 1, 0, 4, 32, 1, 13, 184, ...new Array(11).fill(0), 7, 1, 187]);
  expect(asked(null)).toEqual([5, 1, 0, 3, 6, ...Buffer.from('j.test'), 1, 187]);
});

test('the bytes of an IPv6 address', () => {
  expect(ipv6Bytes('::')).toEqual(new Array(16).fill(0));
  expect(ipv6Bytes('::1')).toEqual([...new Array(15).fill(0), 1]);
  expect(ipv6Bytes('fe80::')).toEqual([254, 128, ...new Array(14).fill(0)]);
  expect(ipv6Bytes('1:2:3:4:5:6:7:8')).toEqual([0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]);
});
