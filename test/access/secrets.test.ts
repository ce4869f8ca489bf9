import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { SecretBox } from '../../src/access/secrets.ts';

const directory = mkdtempSync(join(tmpdir(), 'muster-secrets-'));
afterAll(() => rmSync(directory, { recursive: true }));

const box = SecretBox.open(join(directory, 'key'));
const unreadable = expect.objectContaining({ kind: 'unavailable', message: expect.stringContaining('ipmi.password') });

function fault(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

describe('key file', () => {
  test('is made with 32 bytes for the owner only and used again', () => {
    const file = join(directory, 'fresh');
    const sealed = SecretBox.open(file).seal('calvin', 'ipmi.password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file)).toHaveLength(32);
    expect(SecretBox.open(file).open(sealed, 'ipmi.password')).toBe('calvin');
  });

  test.each([0o640, 0o604, 0o620, 0o660, 0o644])('mode %o is refused', (mode) => {
    const file = join(directory, `mode-${mode}`);
    writeFileSync(file, Buffer.alloc(32, 7));
    chmodSync(file, mode);
    expect(() => SecretBox.open(file)).toThrow(/open to other users \(mode 06\d\d\): run chmod 600/);
  });

  test.each([0, 31, 33])('%i bytes are refused and left alone', (length) => {
    const file = join(directory, `length-${length}`);
    writeFileSync(file, Buffer.alloc(length, 7), { mode: 0o600 });
    expect(() => SecretBox.open(file)).toThrow(`has ${length} bytes instead of 32`);
    expect(readFileSync(file)).toHaveLength(length);
  });

  test('a directory in its place is refused', () => {
    expect(() => SecretBox.open(directory)).toThrow();
  });
});

describe('seal and open', () => {
  test('are inverse for every text and context', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (clear, context) => {
        const sealed = box.seal(clear, context);
        expect(sealed).toMatch(/^\{m1\}[\w-]+$/);
        expect(box.isSealed(sealed)).toBe(true);
        expect(box.open(sealed, context)).toBe(clear);
      }),
    );
  });

  test('the same secret is sealed differently each time and never readable', () => {
    const sealed = Array.from({ length: 1000 }, () => box.seal('calvin', 'ipmi.password'));
    const nonces = sealed.map((text) => text.slice(4, 20));
    expect(new Set(nonces).size).toBe(1000);
    for (const text of sealed) expect(Buffer.from(text.slice(4), 'base64url').includes('calvin')).toBe(false);
  });

  test('every changed or missing character is noticed', () => {
    const sealed = box.seal('calvin', 'ipmi.password');
    for (let i = 0; i < sealed.length; i++) {
      const changed = sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1);
      expect(fault(() => box.open(changed, 'ipmi.password'))).toEqual(unreadable);
      expect(fault(() => box.open(sealed.slice(0, i), 'ipmi.password'))).toEqual(unreadable);
    }
    expect(fault(() => box.open(`${sealed}A`, 'ipmi.password'))).toEqual(unreadable);
    expect(fault(() => box.open(`${sealed}=`, 'ipmi.password'))).toEqual(unreadable);
  });

  test('another column or another key does not open it', () => {
    const sealed = box.seal('calvin', 'openbmc.password');
    expect(fault(() => box.open(sealed, 'ipmi.password'))).toEqual(unreadable);
    const other = SecretBox.open(join(directory, 'other')).seal('calvin', 'ipmi.password');
    expect(fault(() => box.open(other, 'ipmi.password'))).toEqual(unreadable);
  });

  test.each([
    '',
    'calvin',
    '{m1}',
    '{m1}abc',
    '{m2}AAAA',
    '********',
    `{m1}${'A'.repeat(36)}`,
    `{m1}${'*'.repeat(60)}`,
  ])('%j is not sealed', (text) => {
    expect(box.isSealed(text)).toBe(false);
  });
});

test('mac is stable for one key file and differs by text and by key file', () => {
  const other = SecretBox.open(join(directory, 'other'));
  expect(box.mac('a')).toMatch(/^[0-9a-f]{64}$/);
  expect(SecretBox.open(join(directory, 'key')).mac('a')).toBe(box.mac('a'));
  expect(box.mac('b')).not.toBe(box.mac('a'));
  expect(other.mac('a')).not.toBe(box.mac('a'));
});
