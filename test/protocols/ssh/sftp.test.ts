import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SshClient } from '../../../src/protocols/ssh/client.ts';
import { RemoteFiles } from '../../../src/protocols/ssh/sftp/files.ts';
import { putFile } from '../../../src/protocols/ssh/sftp/put.ts';
import { SharedSource } from '../../../src/protocols/ssh/sftp/source.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';
import { clientOf, complaint, never, run, targetOf } from './world.ts';

const [full, dying] = [1, 2];
let lab: SshLab;
let client: SshClient;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'muster-sources-'));
  lab = await startSsh({ count: 30, prefix: '127.122', port: 2225, perProcess: 1, disks: { [full]: 1 << 20 } });
  client = clientOf(lab);
});
afterAll(async () => {
  await client?.close();
  await lab?.stop();
  await rm(directory, { recursive: true, force: true });
});

const filesOf = (index: number) => RemoteFiles.open(client, targetOf(lab, index), { signal: never });

function newSource(name: string, content: string | Buffer, mode = 0o640): Promise<SharedSource> {
  const path = join(directory, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  utimesSync(path, 1_500_000_000, 1_600_000_000);
  return SharedSource.open(path);
}

/** What is in a home beside what the lab has put there. */
const left = (index: number): string[] => readdirSync(lab.home(index)).filter((name) => name !== '.bashrc');

async function put(index: number, source: SharedSource, path: string | Buffer): Promise<void> {
  const files = await filesOf(index);
  try {
    await putFile(files, source, path, never);
  } finally {
    files.close();
  }
}

describe('a copy', () => {
  it.each([0, 1, 260_095, 260_096, 261_120, 261_121, 5_000_000])('of %d bytes is the same', async (size) => {
    const content = randomBytes(size);
    const source = await newSource('sized', content);
    await put(0, source, 'sized');
    await source.close();
    expect(readFileSync(join(lab.home(0), 'sized')).equals(content)).toBe(true);
  });

  it('keeps mode and times', async () => {
    const source = await newSource('mode', 'x', 0o751);
    await put(0, source, 'mode');
    await source.close();
    const { mode, mtimeMs, atimeMs } = statSync(join(lab.home(0), 'mode'));
    expect([mode & 0o7777, atimeMs, mtimeMs]).toEqual([0o751, 1_500_000_000_000, 1_600_000_000_000]);
  });

  it('replaces a file in one step, also one that may not be written', async () => {
    const path = join(lab.home(0), 'replaced');
    writeFileSync(path, 'old', { mode: 0o400 });
    const before = statSync(path).ino;
    const source = await newSource('new', 'new');
    await put(0, source, 'replaced');
    await source.close();
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(statSync(path).ino).not.toBe(before);
  });

  it('may have any name', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
      fc.string({ unit: fc.constantFrom("'", '"', '$', '(', ')', '`', '\n', '\\', '*', ' ', '-', '~'), minLength: 1 }),
      fc.constantFrom('x'.repeat(255), '-rf', '$(reboot)', '%h', '\u{1f600}'.repeat(63)),
    );
    const possible = name.filter(
      (text) => !/[\0/]/.test(text) && text !== '.' && text !== '..' && Buffer.byteLength(text) < 256,
    );
    const source = await newSource('named', 'content');
    const files = await filesOf(3);
    await fc.assert(
      fc.asyncProperty(possible, async (text) => {
        await putFile(files, source, text, never);
        expect(left(3)).toEqual([text]);
        await files.remove(text);
      }),
      { numRuns: 60 },
    );
    const bytes = Buffer.from([0xff, 0xfe, 0x41]);
    await putFile(files, source, bytes, never);
    expect(readdirSync(lab.home(3), { encoding: 'buffer' }).map((entry) => entry.toString('hex'))).toContain('fffe41');
    await files.remove(bytes);
    files.close();
    await source.close();
  });

  it('to many nodes reads the source once', async () => {
    const content = randomBytes(3_000_000);
    const source = await newSource('many', content);
    const indexes = Array.from({ length: 20 }, (_, index) => index + 5);
    await Promise.all(indexes.map((index) => put(index, source, 'many')));
    expect(source.reads).toBe(source.pieces);
    await source.close();
    const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    for (const index of indexes) expect(hash(readFileSync(join(lab.home(index), 'many')))).toBe(hash(content));
  });
});

describe('a copy that fails leaves the old file and nothing else', () => {
  it('when the disk is full', async () => {
    const files = await filesOf(full);
    const small = await newSource('small', 'small');
    await putFile(files, small, 'kept', never);
    const large = await newSource('large', randomBytes(4 << 20));
    expect(await complaint(putFile(files, large, 'kept', never))).toBe(
      'kept could not be written: the disk is full; the file has 4194304 bytes.',
    );
    // The disk is in the daemon's own namespace: only the node itself sees it.
    expect(await run(client, targetOf(lab, full), 'ls -A')).toMatchObject({ stdout: '.bashrc\nkept\n' });
    expect((await files.stat('kept'))?.size).toBe(5);
    files.close();
    await Promise.all([small.close(), large.close()]);
  });

  it('when the directory is missing or is in the way', async () => {
    const source = await newSource('misplaced', 'x');
    mkdirSync(join(lab.home(0), 'taken'));
    expect(await complaint(put(0, source, 'no/such/place'))).toBe(
      'no/such/place could not be written: no such file or directory.',
    );
    expect(await complaint(put(0, source, 'taken'))).toMatch(/could not be renamed to taken: failure\.$/);
    await source.close();
    expect(left(0).filter((name) => name.includes('.muster'))).toEqual([]);
  });

  it('when it is cancelled', async () => {
    writeFileSync(join(lab.home(0), 'cancelled'), 'old');
    const source = await newSource('endless', Buffer.alloc(64 << 20));
    const controller = new AbortController();
    const files = await filesOf(0);
    const work = putFile(files, source, 'cancelled', controller.signal);
    await expect.poll(() => left(0).some((name) => name.includes('.muster'))).toBe(true);
    controller.abort();
    expect(await complaint(work)).toBe('the command was cancelled.');
    files.close();
    await source.close();
    await expect.poll(() => left(0).some((name) => name.includes('.muster'))).toBe(false);
    expect(readFileSync(join(lab.home(0), 'cancelled'), 'utf8')).toBe('old');
  });

  it('when it is cancelled before the node has answered that the file is open', async () => {
    const source = await newSource('early', 'new');
    const controller = new AbortController();
    const files = await filesOf(28);
    const work = complaint(putFile(files, source, 'early', controller.signal));
    controller.abort();
    files.close();
    expect(await work).toBe('the command was cancelled.');
    await source.close();
    expect(left(28)).toEqual([]);
  });

  it('when the source becomes shorter', async () => {
    const source = await newSource('shrinking', Buffer.alloc(1 << 20));
    writeFileSync(join(directory, 'shrinking'), 'short');
    expect(await complaint(put(0, source, 'shrunk'))).toContain('it became shorter while it was read');
    await source.close();
    expect(existsSync(join(lab.home(0), 'shrunk'))).toBe(false);
  });
});

it('a node that dies in the middle of a copy is told, and the others get theirs', async () => {
  writeFileSync(join(lab.home(dying), 'copy'), 'old');
  const content = Buffer.alloc(48 << 20, 'large');
  const source = await newSource('large', content);
  const doomed = put(dying, source, 'copy').catch((error: unknown) => (error as Error).message);
  const fine = put(4, source, 'copy');
  await expect.poll(() => left(dying).some((name) => name.includes('.muster'))).toBe(true);
  lab.sever(dying);
  expect(await doomed).toBe('its SFTP server ended the session before it was done.');
  await fine;
  await source.close();
  expect(readFileSync(join(lab.home(dying), 'copy'), 'utf8')).toBe('old');
  expect(readFileSync(join(lab.home(4), 'copy')).equals(content)).toBe(true);
});

it('works with directories, links and attributes', async () => {
  const files = await filesOf(0);
  await files.makeDirectory('made', 0o750);
  await files.makeLink('made/link', '../elsewhere');
  expect((await files.readLink('made/link')).toString()).toBe('../elsewhere');
  expect(((await files.lstat('made/link'))?.mode ?? 0) & 0o170000).toBe(0o120000);
  expect(await files.stat('made/link')).toBeUndefined();
  await files.setAttributes('made', { mode: 0o700, accessed: 1_000, modified: 2_000 });
  expect(await files.stat('made')).toMatchObject({ mode: 0o40700, accessed: 1_000, modified: 2_000 });
  await files.rename('made/link', 'made/other');
  expect(readdirSync(join(lab.home(0), 'made'))).toEqual(['other']);
  await files.remove('made/other');
  expect(readdirSync(join(lab.home(0), 'made'))).toEqual([]);
  files.close();
});

it('says what is in the way of SFTP when start-up files print something', async () => {
  const start = join(lab.home(29), '.bashrc');
  writeFileSync(start, 'cd; echo Welcome to this fine machine');
  expect(await complaint(filesOf(29))).toContain('sent something other than SFTP');
  rmSync(start);
});

it.each(['/dev/null', '.', 'no-such-file'])('refuses to send %s', async (path) => {
  expect(await complaint(SharedSource.open(path))).toContain(`${path} cannot be sent`);
});

it('sends nothing that was put in the place of a file after that was looked at', async () => {
  const at = (path: string): string => join(directory, 'replaced', path);
  mkdirSync(at('real'), { recursive: true });
  writeFileSync(at('real/file'), 'x');
  symlinkSync('real/file', at('link'));
  symlinkSync('real', at('way'));
  execFileSync('mkfifo', [at('pipe')]);
  await (await SharedSource.open(at('real/file'))).close();
  for (const name of ['link', 'way/file', 'pipe', 'real']) {
    expect(await complaint(SharedSource.open(at(name)))).toContain(`${at(name)} cannot be sent`);
  }
});
