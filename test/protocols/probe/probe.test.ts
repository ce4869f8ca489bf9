import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';

let seen: Record<string, unknown>;

beforeAll(async () => {
  const world = ['--net', process.execPath, join(import.meta.dirname, 'world.ts')];
  const { stdout } = await promisify(execFile)('unshare', world);
  seen = JSON.parse(stdout) as Record<string, unknown>;
});

test.each([
  ['what listens is named in order', 'several', { alive: true, applications: ['https', 'sshd'] }],
  ['a port says what it is', 'one', { alive: true, applications: ['rdp'] }],
  ['a machine that only answers pings is alive', 'none', { alive: true, applications: [] }],
  ['an IPv6 address is looked at alike', 'six', { alive: true, applications: [] }],
  ['a thousand among as many that are away are all seen', 'up', 1_000],
  ['what does not answer is not alive', 'down', 1_000],
  ['ports that say nothing are silent, however many are tried at once', 'silent', 700],
  ['ports are open, closed or silent', 'ports', ['open', 'closed', 'open', 'closed', 'silent']],
  ['an installer is asked how far it is, and only printable text counts', 'installer', 'installing stat'],
  ['no installer says nothing', 'noInstaller', null],
])('%s', (_title, what, expected) => expect(seen[what]).toEqual(expected));
