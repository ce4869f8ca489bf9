import { randomBytes } from 'node:crypto';
import { existsSync, lchownSync, readFileSync, statSync } from 'node:fs';
import { Fault } from '../../core/errors.ts';
import { writeFileAtomically } from '../../core/files.ts';
import type { TsigKey } from '../../protocols/dns/tsig.ts';
import type { User } from '../daemons/daemon.ts';

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
    throw new Fault('unavailable', `${file} is not a key that muster has made; remove it and POST /services/dns.`);
  return { name, algorithm: 'hmac-sha256', secret: Buffer.from(secret, 'base64') };
}

/**
 * Files for named are owned by who it runs as; without the right to do so they stay ours, as does named. It may put links into its
 * directory: what they lead to is not given away.
 */
export function giveTo(file: string, user: User | undefined): void {
  if (user && process.getuid?.() === 0) lchownSync(file, user.uid, user.gid);
}
