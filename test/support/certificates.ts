import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

/** PEM texts. */
export interface KeyPair {
  key: string;
  cert: string;
}

const NAMES = 'subjectAltName=DNS:localhost,DNS:judge.test,DNS:*.judge.test,DNS:example.com,IP:127.0.0.1';
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/**
 * Makes a certificate authority, and certificates of this and other authorities, with the `openssl` program, in a folder that is
 * removed again.
 */
export async function createCertificates() {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-certificates-'));
  const openssl = (...args: string[]) => run(['openssl', ...args], { cwd: folder });
  const read = (file: string) => readFile(join(folder, file), 'utf8');

  async function selfSign(name: string, extension: string): Promise<KeyPair> {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`];
    const facts = ['-days', '2', '-subj', `/CN=${name}`, '-addext', extension];
    await openssl('req', '-x509', ...KEY, ...files, ...facts);
    return { key: await read(`${name}.key`), cert: await read(`${name}.crt`) };
  }

  async function issue(name: string, extension: string, dates: string[]): Promise<KeyPair> {
    await openssl('req', ...KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    await writeFile(join(folder, `${name}.ext`), extension);
    const files = ['-in', `${name}.csr`, '-out', `${name}.crt`, '-extfile', `${name}.ext`];
    await openssl('ca', '-batch', '-config', 'ca.cnf', '-notext', ...files, ...dates);
    return { key: await read(`${name}.key`), cert: await read(`${name}.crt`) };
  }

  try {
    const ca = await selfSign('authority', 'keyUsage=keyCertSign,cRLSign');
    await writeFile(join(folder, 'index.txt'), '');
    await writeFile(join(folder, 'ca.cnf'), CA_CONFIG);
    const today = ['-days', '2'];
    return {
      /** PEM of the authority. */
      ca: ca.cert,
      /** For `localhost`, `judge.test` and names below it, `example.com` and 127.0.0.1. */
      good: await issue('good', NAMES, today),
      /** For `elsewhere.test` only. */
      wrongHost: await issue('elsewhere', 'subjectAltName=DNS:elsewhere.test', today),
      /** For the right names, but expired. */
      expired: await issue('expired', NAMES, ['-startdate', '200101000000Z', '-enddate', '200102000000Z']),
      /** For the right names, but self-signed. */
      selfSigned: await selfSign('self', NAMES),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

export type Certificates = Awaited<ReturnType<typeof createCertificates>>;

const CA_CONFIG = `[ca]
default_ca = authority
[authority]
database = index.txt
new_certs_dir = .
certificate = authority.crt
private_key = authority.key
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
[any]
commonName = supplied
`;
