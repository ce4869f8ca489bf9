import { Fault } from '../../core/errors.ts';
import type { SnmpAccess } from './session.ts';
import { authProtocols, privProtocols } from './usm-keys.ts';

/** How to ask an agent, as tables have it; `names` are what the columns are called there. */
export interface GivenAccess {
  readonly version?: string | undefined;
  readonly community?: string | undefined;
  readonly user?: string | undefined;
  readonly level?: string | undefined;
  readonly authProtocol?: string | undefined;
  readonly authPassword?: string | undefined;
  readonly privProtocol?: string | undefined;
  readonly privPassword?: string | undefined;
}

export type AccessNames = Readonly<Record<keyof GivenAccess, string>>;

const levels = { noauthnopriv: 0, authnopriv: 1, authpriv: 2 } as const;
/** RFC 3414: a shorter one is guessed. */
const shortestPassword = 8;
const usualCommunity = 'public';

/** What is wrong is said at once, with the names of the columns; secrets are not repeated. */
export function snmpAccess(given: GivenAccess, names: AccessNames, usualVersion: '1' | '2c'): SnmpAccess {
  const version = versionIn(given.version, usualVersion);
  if (version === undefined)
    throw new Fault('invalid', `its attribute ${names.version}, "${given.version}", is none of 1, 2c and 3.`);
  if (version !== '3') return { version, community: given.community || usualCommunity };
  const problems: string[] = [];
  if (!given.user) problems.push(`it has no ${names.user}, which SNMPv3 needs.`);
  const level = levelOf(given);
  if (level === undefined)
    problems.push(`its attribute ${names.level}, "${given.level}", is none of noAuthNoPriv, authNoPriv and authPriv.`);
  const auth = level ? protection(given, names, 'auth', authProtocols, problems) : undefined;
  // As the reference system has it, one passphrase serves for both.
  const both = { ...given, privPassword: given.privPassword || given.authPassword };
  const priv = level === levels.authpriv ? protection(both, names, 'priv', privProtocols, problems) : undefined;
  if (problems.length > 0) throw new Fault('invalid', problems);
  return { version, user: given.user!, auth, priv };
}

function versionIn(text = '', usual: '1' | '2c'): '1' | '2c' | '3' | undefined {
  const [, number = ''] = /^(?:snmp)?v?([123])c?$/i.exec(text.trim()) ?? [];
  if (text.trim() === '') return usual;
  return number === '2' ? '2c' : number === '1' || number === '3' ? number : undefined;
}

function levelOf({ level, authPassword, privPassword, privProtocol }: GivenAccess): 0 | 1 | 2 | undefined {
  if (level) return levels[level.trim().toLowerCase() as keyof typeof levels];
  if (!authPassword) return levels.noauthnopriv;
  return privPassword || privProtocol ? levels.authpriv : levels.authnopriv;
}

function protection(
  given: GivenAccess,
  names: AccessNames,
  kind: 'auth' | 'priv',
  known: Readonly<Record<string, unknown>>,
  problems: string[],
): { readonly protocol: string; readonly password: string } {
  const [text = '', password = ''] = [given[`${kind}Protocol`], given[`${kind}Password`]];
  const protocol = Object.keys(known).find((name) => plain(name) === plain(text)) ?? '';
  const list = Object.keys(known).join(', ');
  if (text === '') problems.push(`it has no ${names[`${kind}Protocol`]}, which its security level needs: ${list}.`);
  else if (protocol === '') problems.push(`its attribute ${names[`${kind}Protocol`]}, "${text}", is none of ${list}.`);
  if (Buffer.byteLength(password) < shortestPassword)
    problems.push(`its ${names[`${kind}Password`]} needs at least ${shortestPassword} characters.`);
  return { protocol, password };
}

/** `sha1` is SHA, `AES128` is AES, `SHA256` is SHA-256. */
const plain = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/^sha1$/, 'sha')
    .replace(/^aes128$/, 'aes');
