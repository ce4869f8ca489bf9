import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { writeFileAtomically } from '../../core/files.ts';

/** Every name and address by which this machine may be called, found without asking the network. */
export function localNames(): string[] {
  const name = hostname().toLowerCase();
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  const names = ['localhost', name, ...namesInHostsFile(readHostsFile(), name)].filter(isDnsName);
  return [...new Set([...names, '127.0.0.1', '::1', ...addresses])];
}

/** The other names on the lines of a hosts file that name this machine, its full name among them. */
export function namesInHostsFile(text: string, name: string): string[] {
  return text.split('\n').flatMap((line) => {
    const names = line.replace(/#.*/, '').toLowerCase().trim().split(/\s+/).slice(1);
    return names.some((each) => each === name || each.startsWith(`${name}.`)) ? names : [];
  });
}

const isDnsName = (name: string) => /^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9])?$/.test(name);

function readHostsFile(): string {
  try {
    return readFileSync('/etc/hosts', 'utf8');
  } catch {
    return '';
  }
}

interface Certificates {
  /** A new certificate authority was made: clients have to be given the file `ca`. */
  created: boolean;
  /** The server certificate was made or renewed. */
  issued: boolean;
  ca: string;
  certificate: string;
  key: string;
}

export interface Credentials {
  cert: string;
  key: string;
}

const day = 24 * 60 * 60 * 1000;
const renewBefore = 30 * day;

function pathsBelow(dir: string) {
  const inside = (name: string) => join(dir, 'tls', name);
  return {
    ca: inside('ca.pem'),
    caKey: inside('ca.key'),
    certificate: inside('server.pem'),
    key: inside('server.key'),
  };
}

/** Makes what is missing of a certificate authority and a server certificate below DIR/tls, and renews the latter in time. */
export async function ensureCertificates(dir: string, names: readonly string[] = localNames()): Promise<Certificates> {
  const { certificate, key } = pathsBelow(dir);
  return ensureLeaf(dir, { certificate, key }, names, true);
}

/** The same for a certificate of another service, for exactly these names; `ca` is the authority's. */
export async function ensureServiceCertificate(
  dir: string,
  files: { readonly certificate: string; readonly key: string },
  names: readonly string[],
): Promise<{ readonly ca: string }> {
  const present = readCertificate(files.certificate);
  const isFor = names.every((name) => (isIP(name) ? present?.checkIP(name) : present?.checkHost(name)) !== undefined);
  return ensureLeaf(dir, files, names, isFor);
}

async function ensureLeaf(
  dir: string,
  files: { readonly certificate: string; readonly key: string },
  names: readonly string[],
  isForThem: boolean,
): Promise<Certificates> {
  const paths = pathsBelow(dir);
  const result = { created: false, issued: false, ca: paths.ca, ...files };
  if (isForThem && lastsFor(readCertificate(files.certificate), readKey(files.key))) return result;

  // Loading what makes certificates takes a while, and most starts make none.
  const { issueAuthority, issueServer } = await import('../../access/issue-certificates.ts');
  mkdirSync(join(dir, 'tls'), { recursive: true, mode: 0o700 });
  let ca = readCertificate(paths.ca);
  if (!lastsFor(ca, readKey(paths.caKey))) {
    if (ca !== undefined && !endsSoon(ca)) {
      throw new Fault(
        'unavailable',
        `The server certificate ${files.certificate} must be renewed, but ${paths.caKey} is missing or does not belong to ` +
          `${paths.ca}. Put the key back, or remove ${paths.ca} to have a new certificate authority made.`,
      );
    }
    ca = await issueAuthority(readOrMakeKey(paths.caKey));
    writeFileAtomically(paths.ca, ca.toString(), 0o644);
    result.created = true;
  }
  const authority = { certificate: ca as X509Certificate, key: readOrMakeKey(paths.caKey) };
  const leaf = await issueServer(authority, readOrMakeKey(files.key), names);
  writeFileAtomically(files.certificate, leaf.toString(), 0o644);
  result.issued = true;
  return result;
}

/** The certificate and key to serve with: the user's own if configured, else the ones below the data directory. */
export function loadCredentials(config: {
  data: string;
  tls: { certificate: string; key: string } | undefined;
}): Credentials {
  const { certificate, key } = config.tls ?? pathsBelow(config.data);
  // The authority is shown along, so that clients can keep it at their first login.
  const authority = config.tls ? '' : readText(pathsBelow(config.data).ca, 'certificate authority');
  const credentials = {
    cert: `${readText(certificate, 'certificate')}\n${authority}`,
    key: readText(key, 'private key'),
  };
  const parsedCertificate = attempt(() => new X509Certificate(credentials.cert));
  if (parsedCertificate === undefined) throw new Fault('invalid', `${certificate} holds no certificate in PEM form.`);
  const parsedKey = attempt(() => createPrivateKey(credentials.key));
  if (parsedKey === undefined) throw new Fault('invalid', `${key} holds no unencrypted private key in PEM form.`);
  if (!parsedCertificate.checkPrivateKey(parsedKey)) {
    throw new Fault('invalid', `The private key ${key} does not belong to the certificate ${certificate}.`);
  }
  return credentials;
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault('invalid', `The ${what} cannot be read: ${(error as Error).message}.`);
  }
}

const readCertificate = (file: string) => attempt(() => new X509Certificate(readFileSync(file)));
const readKey = (file: string) => attempt(() => createPrivateKey(readFileSync(file)));

/** It is time to renew it. */
export const endsSoon = (certificate: X509Certificate): boolean =>
  certificate.validToDate.getTime() < Date.now() + renewBefore;

function lastsFor(certificate: X509Certificate | undefined, key: KeyObject | undefined): boolean {
  return certificate !== undefined && key !== undefined && certificate.checkPrivateKey(key) && !endsSoon(certificate);
}

/** A key is kept once it exists, so that a renewal replaces one file and cannot leave a pair that does not match. */
function readOrMakeKey(file: string): KeyObject {
  const existing = readKey(file);
  if (existing !== undefined) return existing;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileAtomically(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
  return privateKey;
}
