import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { provideKey } from '../../../src/names/dns/layout.ts';

const named = { name: 'named', uid: 65_533, gid: 65_533 };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-key-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

it.runIf(process.getuid?.() === 0)(
  'gives the key to the user of named, but not what a link in its place leads to',
  () => {
    const [key, foreign] = [join(directory, 'muster.key'), join(directory, 'foreign')];
    const made = provideKey(key, named);
    expect([statSync(key).uid, statSync(key).mode & 0o777]).toEqual([named.uid, 0o600]);
    writeFileSync(foreign, `key "muster" { algorithm hmac-sha256; secret "${made.secret.toString('base64')}"; };\n`, {
      mode: 0o600,
    });
    rmSync(key);
    symlinkSync(foreign, key);
    provideKey(key, named);
    expect(statSync(foreign).uid).toBe(0);
  },
);
