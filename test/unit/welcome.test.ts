import { expect, test } from 'bun:test';
import type { NetworkInterfaceInfo } from 'node:os';
import { lanAddress, type WelcomeOptions, welcome } from '../../src/cli/serve.ts';
import { parseConfig } from '../../src/config.ts';
import type { Finding } from '../../src/findings/finding.ts';
import { grouped } from '../../src/findings/network.ts';
import { openFindings } from '../../src/findings/settings.ts';
import { qrBlocks } from '../../src/lib/qr-code.ts';

const LAN = 'http://192.168.1.23:3000';

const greeting = (options: Partial<WelcomeOptions> = {}) =>
  welcome({
    url: 'http://localhost:3000',
    shared: { by: 'On this network', url: LAN },
    config: { SERVICES: ['proxy', 'image'] },
    program: 'picpool',
    room: { rows: 50, columns: 80 },
    colored: false,
    ...options,
  });

test('a terminal shows the address for other devices, its QR code, and three commands', () => {
  const text = greeting();
  expect(text).toContain(`On this network: ${LAN}\n\n${qrBlocks(LAN).join('\n')}\n`);
  expect(text.match(/^ {2}picpool .*/gm)).toEqual([
    '  picpool upload photo.jpg   uploads a picture and prints its link',
    '  picpool export             prints the working proxies',
    '  picpool doctor             finds problems with this setup',
  ]);
});

test('the QR code is left out if there is no room or no address', () => {
  for (const room of [
    { rows: 24, columns: 80 },
    { rows: 50, columns: 20 },
  ]) {
    expect(greeting({ room })).not.toContain('█');
    expect(greeting({ room })).toContain(LAN);
  }
  expect(greeting({ shared: null })).toStartWith('\nIn another terminal:\n');
});

test('commands match the services, and name the server if it is not at the default address', () => {
  const text = greeting({ config: { SERVICES: ['image'] }, url: 'http://localhost:8080' });
  expect(text).toContain('picpool upload --url http://localhost:8080 photo.jpg ');
  expect(text).not.toContain('export');
});

function face(address: string, internal = false): NetworkInterfaceInfo[] {
  return [{ address, internal, family: 'IPv4', netmask: '', mac: '', cidr: null }];
}

test('the address of the local network is neither a container bridge nor one without a network', () => {
  const home = face('192.168.1.23');
  expect(lanAddress({ lo: face('127.0.0.1', true), docker0: face('172.17.0.1'), wlan0: home })).toBe(
    '192.168.1.23',
  );
  expect(lanAddress({ eth0: face('203.0.113.7'), eth1: face('10.0.0.4') })).toBe('10.0.0.4');
  expect(lanAddress({ eth0: face('169.254.3.4'), 'br-3f': face('172.18.0.1') })).toBeNull();
});

test('the doctor groups equal problems', () => {
  const away = (about: string): Finding => ({ level: 'warn', about, text: 'could not be reached' });
  expect(grouped([away('a'), { level: 'ok', text: 'fine' }, ...['b', 'c', 'd', 'e'].map(away)])).toEqual([
    { level: 'warn', about: 'a', text: 'a, b, c and 2 more: could not be reached' },
    { level: 'ok', text: 'fine' },
  ]);
});

test('everything that the settings leave open comes with the setting that closes it', () => {
  const token = 'a-token-of-sixteen';
  const open = (env: Record<string, string>) => openFindings(parseConfig(env), () => token);
  const all = open({});
  expect(all.map(({ about }) => about)).toEqual([
    'administrator',
    'upload',
    'listing',
    'deletion',
    'public_url',
    'trusted_proxies',
  ]);
  const closed = Object.fromEntries(all.map(({ advice = '' }) => advice.split('=') as [string, string]));
  expect(open(closed)).toEqual([]);
  expect(open({ SERVICES: 'proxy' }).map(({ about }) => about)).toEqual([
    'administrator',
    'public_url',
    'trusted_proxies',
  ]);
});
