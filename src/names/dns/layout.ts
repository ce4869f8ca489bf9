import { randomBytes } from 'node:crypto';
import { existsSync, lchownSync, readFileSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import { writeFileAtomically } from '../../core/files.ts';
import type { ListenAddress } from '../../core/host-address.ts';
import { kind, ListenAddresses, oneOf, Path, setting, type ValuesOf } from '../../core/settings.ts';
import type { TsigKey } from '../../protocols/dns/tsig.ts';
import { systemdIsThere, type User, userNamed } from '../daemons/daemon.ts';

const UserName = kind('the name of a user of this machine', Type.String({ pattern: /^[a-z_][a-z0-9_-]*$/ }));

export const dnsSettings = Type.Object({
  daemon: setting(
    oneOf('auto', 'systemd', 'process', 'none'),
    'what starts and stops named: systemd, muster itself (`process`), or neither, because there is none on this machine (`none`)',
    { default: 'auto' },
  ),
  directory: setting(Path, 'directory for the zones and the key of named', {
    defaultText: "the package's directory for zones, or `DIR/dns`",
  }),
  configuration: setting(Path, 'main configuration file of named', {
    defaultText: "the package's, or one in `dns.directory`",
  }),
  user: setting(
    UserName,
    'user that named runs as; if muster starts named, `dns.directory` must then be outside `DIR`',
    {
      defaultText: "the package's, or the user that muster runs as",
    },
  ),
  listen: setting(ListenAddresses, 'addresses and ports where named listens', {
    defaultText: 'port 53 on all addresses, or on those of the site attribute `dnsinterfaces`',
  }),
});
export type DnsSettings = ValuesOf<typeof dnsSettings>;

/** Where the files of the name server lie and who owns them. */
export interface Layout {
  readonly how: 'systemd' | 'process';
  readonly configuration: string;
  /** Zones and key; muster's alone, and named may write here. */
  readonly directory: string;
  readonly keyFile: string;
  /** For name servers elsewhere that copy the zones. */
  readonly transferKeyFile: string;
  readonly unit: string;
  readonly user: User | undefined;
  /** Undefined: port 53 everywhere. */
  readonly listen: readonly ListenAddress[] | undefined;
  /** Where updates are sent. */
  readonly server: ListenAddress;
}

/** Undefined where muster is to run no name server. */
export function layoutOf(settings: DnsSettings, data: string): Layout | undefined {
  const { daemon, listen } = settings;
  if (daemon === 'none') return undefined;
  const how = daemon === 'auto' ? (systemdIsThere() ? 'systemd' : 'process') : daemon;
  const isSystem = how === 'systemd';
  const directory = settings.directory ?? (isSystem ? join(packageDirectory(), 'muster') : join(data, 'dns'));
  const configuration = settings.configuration ?? (isSystem ? systemConfiguration() : join(directory, 'named.conf'));
  for (const path of [directory, configuration]) checkPath(path);
  const user = settings.user === undefined ? (isSystem ? packageUser() : undefined) : neededUser(settings.user);
  if (user && !isSystem && directory.startsWith(data + sep))
    throw new Fault(
      'invalid',
      `The setting dns.user needs dns.directory too: a directory outside ${data}, which only muster may enter.`,
    );
  const [first] = listen ?? [];
  return {
    how,
    configuration,
    directory,
    keyFile: join(directory, 'muster.key'),
    transferKeyFile: join(directory, 'transfer.key'),
    unit: 'named',
    user,
    listen,
    server: first ? { host: reachable(first.host), port: first.port } : { host: '127.0.0.1', port: 53 },
  };
}

/** Paths stand between quotes in named's configuration. */
export function checkPath(path: string): void {
  if (/^[^"\\\p{Cc}]+$/u.test(path)) return;
  throw new Fault(
    'invalid',
    `${JSON.stringify(path)} cannot be a path for the name server: it has quotes or the like.`,
  );
}

const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** Debian's named may write in one place, Red Hat's in another; both guard it. */
export const packageDirectory = (): string => (existsSync('/var/lib/bind') ? '/var/lib/bind' : '/var/named/dynamic');
const systemConfiguration = (): string => (existsSync('/etc/bind') ? '/etc/bind/named.conf' : '/etc/named.conf');
export const packageUser = (): User | undefined => userNamed('bind') ?? userNamed('named');

function neededUser(name: string): User {
  const user = userNamed(name);
  if (user) return user;
  throw new Fault('invalid', `The setting dns.user names "${name}", but this machine has no such user.`);
}

const keyName = 'muster';
const pattern = /^key "([a-z0-9-]+)" \{ algorithm hmac-sha256; secret "([A-Za-z0-9+/=]+)"; \};\s*$/;

/** The key that muster and its name server share, made when there is none. named reads the same file. */
export function provideKey(file: string, user: User | undefined): TsigKey {
  if (!existsSync(file)) {
    const secret = randomBytes(32).toString('base64');
    writeFileAtomically(file, `key "${keyName}" { algorithm hmac-sha256; secret "${secret}"; };\n`, 0o600);
  }
  giveTo(file, user);
  return readKey(file)!;
}

/** Undefined if there is none yet. */
export function readKey(file: string): TsigKey | undefined {
  if (!existsSync(file)) return undefined;
  const { mode } = statSync(file);
  if ((mode & 0o077) !== 0)
    throw new Fault('unavailable', `The key file ${file} is open to other users: run chmod 600 on it.`);
  const [, name, secret] = pattern.exec(readFileSync(file, 'utf8')) ?? [];
  if (name === undefined || secret === undefined)
    throw new Fault('unavailable', `${file} is not a key that muster has made; remove it, then do POST /services/dns.`);
  return { name, algorithm: 'hmac-sha256', secret: Buffer.from(secret, 'base64') };
}

/** Files belong to the user that named runs as. It may put links into its directory: what they lead to is not given away. */
export function giveTo(file: string, user: User | undefined): void {
  if (user && process.getuid?.() === 0) lchownSync(file, user.uid, user.gid);
}
