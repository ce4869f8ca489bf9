import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LabChild, said, startChild } from './child.ts';
import { freePort } from './nats.ts';

const modules = '/usr/lib/ldap';
const schemas = '/etc/ldap/schema';
const host = '127.0.0.1';
const admin = { dn: 'cn=admin,dc=cluster', password: 'admin-secret' };

/** A directory of its own with people and groups, on loopback. Everybody's password is `pw-NAME`. */
export interface Slapd {
  /** With StartTLS. */
  readonly url: string;
  readonly ldaps: string;
  readonly ca: string;
  /** An authority that has signed nothing here. */
  readonly otherCa: string;
  readonly reader: { readonly dn: string; readonly passwordFile: string };
  readonly directory: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** It takes connections and says nothing. */
  suspend(): void;
  resume(): void;
  /** Changes entries, as an LDIF says. */
  change(ldif: string): void;
  remove(): Promise<void>;
}

export const dnOf = (name: string): string => `uid=${name.replaceAll('+', '\\+')},ou=people,dc=cluster`;
export const person = (name: string, more = ''): string => `dn: ${dnOf(name)}
objectClass: inetOrgPerson
objectClass: posixAccount
objectClass: shadowAccount
uid: ${name}
cn: ${name}
sn: ${name}
uidNumber: 5000
gidNumber: 5000
homeDirectory: /home/${name}
userPassword: pw-${name}
${more === '' ? '' : `${more}\n`}
`;

export const group = (name: string, ...members: readonly string[]): string => `dn: cn=${name},ou=groups,dc=cluster
objectClass: groupOfNames
cn: ${name}
${members.map((member) => `member: ${member}\n`).join('')}
`;

export const groupDn = (name: string): string => `cn=${name},ou=groups,dc=cluster`;

const base = `dn: dc=cluster
objectClass: dcObject
objectClass: organization
dc: cluster
o: cluster

dn: ou=people,dc=cluster
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=cluster
objectClass: organizationalUnit
ou: groups

dn: ou=elsewhere,dc=cluster
objectClass: organizationalUnit
ou: elsewhere

dn: cn=reader,dc=cluster
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: reader-secret

`;

const configuration = (directory: string): string => `include ${schemas}/core.schema
include ${schemas}/cosine.schema
include ${schemas}/inetorgperson.schema
include ${schemas}/nis.schema
modulepath ${modules}
moduleload back_mdb
moduleload memberof
pidfile ${directory}/pid
TLSCACertificateFile ${directory}/ca.pem
TLSCertificateFile ${directory}/server.pem
TLSCertificateKeyFile ${directory}/server.key
security simple_bind=128
database mdb
suffix dc=cluster
rootdn ${admin.dn}
rootpw ${admin.password}
directory ${directory}/db
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="ou=groups,dc=cluster" by users read by * none
access to * by dn.exact="cn=reader,dc=cluster" read by self read by * none
`;

/** `ldif`: entries besides those that every directory of these has. */
export async function startSlapd(ldif: string): Promise<Slapd> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-slapd-'));
  mkdirSync(join(directory, 'db'));
  const at = (name: string): string => join(directory, name);
  makeCertificates(at);
  writeFileSync(at('slapd.conf'), configuration(directory));
  writeFileSync(at('reader'), 'reader-secret\n', { mode: 0o600 });
  const run = (program: string, args: readonly string[], input: string): string =>
    execFileSync(program, args, { input, encoding: 'utf8', env: { ...process.env, LDAPTLS_CACERT: at('ca.pem') } });
  run('slapadd', ['-q', '-f', at('slapd.conf')], base + ldif);
  const [port, tlsPort] = [await freePort(host), await freePort(host)];
  const url = `ldap://${host}:${port}`;
  const ldaps = `ldaps://${host}:${tlsPort}`;
  let child: LabChild | undefined;
  let starts = 0;
  const slapd: Slapd = {
    url,
    ldaps,
    directory,
    ca: at('ca.pem'),
    otherCa: at('other.pem'),
    reader: { dn: 'cn=reader,dc=cluster', passwordFile: at('reader') },
    async start() {
      const logFile = at(`log${starts++}`);
      child = startChild('slapd', ['-f', at('slapd.conf'), '-h', `${url} ${ldaps}`, '-d', '256'], {
        directory,
        logFile,
      });
      await said(child, 'slapd starting');
    },
    async stop() {
      child?.process.kill('SIGCONT');
      await child?.stop();
    },
    suspend: () => child?.process.kill('SIGSTOP'),
    resume: () => child?.process.kill('SIGCONT'),
    change(text) {
      run('ldapmodify', ['-ZZ', '-x', '-H', url, '-D', admin.dn, '-w', admin.password], text);
    },
    async remove() {
      await slapd.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  await slapd.start();
  return slapd;
}

function makeCertificates(at: (name: string) => string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const make = (name: string, subject: string, ...more: readonly string[]): unknown =>
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        ...key,
        '-subj',
        `/CN=${subject}`,
        '-keyout',
        at(`${name}.key`),
        '-out',
        at(`${name}.pem`),
        ...more,
      ],
      { stdio: 'pipe' },
    );
  make('ca', 'authority');
  make('other', 'another authority');
  const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-addext', 'basicConstraints=critical,CA:FALSE'];
  make('server', 'directory', ...signed, '-addext', `subjectAltName=IP:${host}`);
}
