import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newKeyPair, publicKeyOf } from '../../../src/protocols/ssh/host-keys.ts';

it('makes key pairs that belong together, with comments of all lengths', () => {
  for (let length = 1; length < 400; length++) {
    const { privateKey, publicKey } = newKeyPair('c'.repeat(length));
    expect(publicKeyOf(privateKey)).toBe(publicKey);
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

it('knows what is no private key', () => {
  expect(publicKeyOf('garbage')).toBeUndefined();
  expect(publicKeyOf(newKeyPair('x').publicKey)).toBeUndefined();
});
