import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSshKeys } from '../../src/nodes/ssh-keys.ts';
import { scratchDirectory } from '../harness/store.ts';

let data: string;
beforeEach(() => {
  data = scratchDirectory();
});
afterEach(() => rmSync(data, { recursive: true }));

it('makes a key pair that OpenSSH can read, for its owner alone', async () => {
  const { privateKeyFile, publicKey } = await openSshKeys(data);
  expect(statSync(privateKeyFile).mode & 0o777).toBe(0o600);
  expect(statSync(join(data, 'ssh')).mode & 0o777).toBe(0o700);
  const derived = execFileSync('ssh-keygen', ['-y', '-f', privateKeyFile], { encoding: 'utf8' }).trim();
  expect(publicKey).toBe(derived);
  expect(publicKey).toMatch(/^ssh-ed25519 AAAA\S+ muster$/);
  expect(readFileSync(`${privateKeyFile}.pub`, 'utf8')).toBe(`${publicKey}\n`);
});

it('keeps the key pair it has, and takes one that OpenSSH made', async () => {
  const first = await openSshKeys(data);
  expect(await openSshKeys(data)).toEqual(first);
  rmSync(first.privateKeyFile);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'our site', '-f', first.privateKeyFile], {
    input: 'y\n',
  });
  const { publicKey } = await openSshKeys(data);
  expect(publicKey).toBe(readFileSync(`${first.privateKeyFile}.pub`, 'utf8').trim());
});

it('says what to do about a file that holds no key', async () => {
  const { privateKeyFile } = await openSshKeys(data);
  writeFileSync(privateKeyFile, 'garbage');
  await expect(openSshKeys(data)).rejects.toThrow(/id_ed25519 is not a private key .* remove the file/);
});
