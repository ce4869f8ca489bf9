import { execFileSync } from 'node:child_process';
import { createSign, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createPortServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LabChild, startChild } from '../child.ts';

export const labLogin = { username: 'lab', password: 'open-sesame-417' } as const;
/** Of that password. */
const loginLine = 'lab:$2y$05$KXhXKCLDRXZ5.YZRPO8SN.Sf8sDesBVfzhSwxtg7GbtHb2O/ZmOua';

/** Debian's docker-registry on loopback: four doors to one store. */
export interface LabRegistry {
  readonly http: string;
  readonly https: string;
  readonly basic: string;
  readonly bearer: string;
  /** host:port of the token service. */
  readonly tokens: string;
  /** The authority of all of them, as PEM. */
  readonly ca: string;
  /** What the token service was asked: who, and the scopes. */
  readonly asked: { readonly user: string; readonly scopes: readonly string[] }[];
  /** Copies an image of a layout there, by skopeo. */
  push(layout: string, name: string, ...options: string[]): void;
  stop(): Promise<void>;
}

export async function startRegistry(directory: string): Promise<LabRegistry> {
  mkdirSync(join(directory, 'store'), { recursive: true });
  makeCertificates(directory);
  writeFileSync(join(directory, 'htpasswd'), `${loginLine}\n`);
  const tls = `  tls: {certificate: ${directory}/server.pem, key: ${directory}/server.key}\n`;
  const tokens = await startTokens(directory);
  const htpasswd = `auth: {htpasswd: {realm: lab, path: ${directory}/htpasswd}}\n`;
  const bearer = `auth: {token: {realm: "https://${tokens.address}/token", service: lab, issuer: lab, rootcertbundle: ${directory}/server.pem}}\n`;
  const doors = await Promise.all([
    openDoor(directory, 'http', '', ''),
    openDoor(directory, 'https', tls, ''),
    openDoor(directory, 'basic', tls, htpasswd),
    openDoor(directory, 'bearer', tls, bearer),
  ]);
  const [http, https, basic, token] = doors.map(({ address }) => address) as [string, string, string, string];
  return {
    http,
    https,
    basic,
    bearer: token,
    tokens: tokens.address,
    ca: readFileSync(join(directory, 'ca.pem'), 'utf8'),
    asked: tokens.asked,
    push(layout, name, ...options) {
      const target = `docker://${http}/${name}`;
      const words = ['--insecure-policy', 'copy', '-q', '--dest-tls-verify=false', ...options, `oci:${layout}`, target];
      execFileSync('skopeo', words, { stdio: ['ignore', 'ignore', 'inherit'] });
    },
    async stop() {
      await Promise.all(doors.map(({ child }) => child.stop()));
      await tokens.stop();
    },
  };
}

async function openDoor(
  directory: string,
  name: string,
  tls: string,
  auth: string,
): Promise<{ readonly address: string; readonly child: LabChild }> {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const file = join(directory, `${name}.yml`);
  const storage = `storage: {filesystem: {rootdirectory: ${directory}/store}}\n`;
  writeFileSync(file, `version: 0.1\nlog: {level: warn}\n${storage}http:\n  addr: ${address}\n${tls}${auth}`);
  const child = startChild('docker-registry', ['serve', file], { directory, logFile: join(directory, `${name}.log`) });
  await untilOpen(port, child);
  return { address, child };
}

async function untilOpen(port: number, child: LabChild): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    if (open) return;
    if (child.process.exitCode !== null) throw new Error(`docker-registry has ended: ${child.log()}`);
    await sleep(50);
  }
}

async function freePort(): Promise<number> {
  const server = createPortServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function makeCertificates(directory: string): void {
  const openssl = (...words: string[]): void =>
    void execFileSync('openssl', words, { cwd: directory, stdio: ['ignore', 'ignore', 'ignore'] });
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', '-subj', '/CN=lab-ca');
  openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(join(directory, 'ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n');
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30', '-extfile', 'ext'];
  openssl('x509', '-req', '-in', 'server.csr', ...sign, '-out', 'server.pem');
}

/** The token service: the lab's login may push and pull, nobody else more than pull from repositories that are not private. */
async function startTokens(directory: string) {
  const [key, cert] = [
    readFileSync(join(directory, 'server.key')),
    readFileSync(join(directory, 'server.pem'), 'utf8'),
  ];
  const asked: { user: string; scopes: readonly string[] }[] = [];
  const server = createTlsServer({ key, cert }, (request, response) => {
    const query = new URL(request.url!, 'https://x').searchParams;
    const login = Buffer.from((request.headers.authorization ?? '').split(' ')[1] ?? '', 'base64').toString();
    const scopes = query.getAll('scope');
    asked.push({ user: login.split(':')[0]!, scopes });
    if (login !== '' && login !== `${labLogin.username}:${labLogin.password}`) {
      response.writeHead(401).end('{"details":"incorrect username or password"}');
      return;
    }
    const access = scopes.flatMap((scope) => {
      const [, type, name, actions] = /^(\w+):(.*):([\w,*]+)$/.exec(scope) ?? [];
      const allowed = (actions ?? '')
        .split(',')
        .filter((each) => login !== '' || (each === 'pull' && !name!.startsWith('private/')));
      return type === undefined ? [] : { type, name, actions: allowed };
    });
    const token = signed(key, cert, { aud: query.get('service'), sub: login.split(':')[0], access });
    // Only one of the two names that are in use.
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ access_token: token }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: () => new Promise<unknown>((resolve) => server.closeAllConnections() ?? server.close(resolve)),
  };
}

function signed(key: Buffer, cert: string, claims: object): string {
  const x5c = [cert.replaceAll(/-----.*?-----|\s/g, '')];
  const now = Math.floor(Date.now() / 1_000);
  const text = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const times = { iss: 'lab', iat: now, nbf: now - 5, exp: now + 300, jti: randomUUID() };
  const body = `${text({ typ: 'JWT', alg: 'RS256', x5c })}.${text({ ...claims, ...times })}`;
  return `${body}.${createSign('sha256').update(body).sign(key, 'base64url')}`;
}
