import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newKeyPair, publicKeyOf } from '../../../src/protocols/ssh/host-keys.ts';

it('makes key pairs that belong together, with comments of all lengths', async () => {
  for (let length = 1; length < 400; length++) {
    const { privateKey, publicKey } = newKeyPair('c'.repeat(length));
    expect(await publicKeyOf(privateKey)).toBe(publicKey);
  }
});

it('makes key pairs that OpenSSH reads', () => {
  const directory = mkdtempSync(join(tmpdir(), 'muster-keys-'));
  try {
    for (let number = 0; number < 40; number++) {
      const { privateKey, publicKey } = newKeyPair('x'.repeat(1 + (number % 8)));
      const file = join(directory, String(number));
      writeFileSync(file, privateKey, { mode: 0o600 });
      expect(execFileSync('ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' }).trim()).toBe(publicKey);
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it('reads keys that others made, and its own written otherwise', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'muster-keys-'));
  try {
    for (const type of ['ed25519', 'rsa', 'ecdsa']) {
      const file = join(directory, type);
      execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'our site', '-f', file]);
      expect(await publicKeyOf(readFileSync(file, 'utf8'))).toBe(readFileSync(`${file}.pub`, 'utf8').trim());
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  const { privateKey, publicKey } = newKeyPair('x');
  expect(await publicKeyOf(privateKey.trim())).toBe(publicKey);
});

it('knows what is no private key', async () => {
  expect(await publicKeyOf('garbage')).toBeUndefined();
  expect(await publicKeyOf(newKeyPair('x').publicKey)).toBeUndefined();
  const { privateKey } = newKeyPair('x');
  expect(await publicKeyOf(privateKey.slice(0, 200))).toBeUndefined();
});
