import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import { writeFileAtomically } from '../core/files.ts';
import { newKeyPair, publicKeyOf } from '../protocols/ssh/keys.ts';

export interface SshKeys {
  readonly privateKeyFile: string;
  readonly privateKey: string;
  /** The line for authorized_keys on the nodes. */
  readonly publicKey: string;
}

/** The key pair muster logs in to nodes with, below the data directory; made when there is none. */
export function openSshKeys(data: string): SshKeys {
  const directory = join(data, 'ssh');
  const privateKeyFile = join(directory, 'id_ed25519');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (!existsSync(privateKeyFile)) writeFileAtomically(privateKeyFile, newKeyPair('muster').privateKey, 0o600);
  const privateKey = readFileSync(privateKeyFile, 'utf8');
  const publicKey = publicKeyOf(privateKey);
  if (publicKey === undefined) {
    throw new Fault(
      'unavailable',
      `${privateKeyFile} is not a private key without a passphrase. Put the right one back from a backup, or remove the file: ` +
        'the next start then makes a new one, whose public part must be handed out to the nodes.',
    );
  }
  writePublicKey(`${privateKeyFile}.pub`, `${publicKey}\n`);
  return { privateKeyFile, privateKey, publicKey };
}

/** Beside the private key, as everybody expects it. */
function writePublicKey(file: string, text: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileAtomically(file, text, 0o644);
}
