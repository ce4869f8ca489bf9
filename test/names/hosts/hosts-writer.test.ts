import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tryLock } from '../../../src/core/file-lock.ts';
import { type HostLine, readHosts } from '../../../src/names/hosts/hosts-file.ts';
import { HostsWriter } from '../../../src/names/hosts/hosts-writer.ts';

const isRoot = process.getuid!() === 0;

let directory: string;
let path: string;
const undo: (() => void)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-hosts-'));
  path = join(directory, 'hosts');
});
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
  rmSync(directory, { recursive: true });
});

const text = (): string => readFileSync(path, 'latin1');
const textOf = (lines: readonly HostLine[]): string => lines.map((line) => line.text).join('');
const adding = (line: string) => (lines: readonly HostLine[]) => textOf(lines) + line;

describe('a change of the hosts file', () => {
  it('lets others work before the next of many that wait', async () => {
    const writer = new HostsWriter(path);
    let turns = 0;
    const count = (): void => {
      turns++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const at: number[] = [];
    const changes = Array.from({ length: 20 }, (_, i) =>
      writer.update((lines) => {
        at.push(turns);
        return adding(`10.0.0.${i + 1} n${i}\n`)(lines);
      }),
    );
    await Promise.all(changes);
    clearImmediate(counting);
    expect(new Set(at).size).toBe(20);
  });

  it('keeps every other byte, mode and owner, and what was there before as a backup', async () => {
    const before = '# \xe4\xff comment\r\n10.9.9.9\tother \x01\n\n';
    writeFileSync(path, before, 'latin1');
    chmodSync(path, 0o664);
    if (isRoot) chownSync(path, 12, 34);
    await new HostsWriter(path).update(adding('10.0.0.1 n1\n'));
    expect(text()).toBe(`${before}10.0.0.1 n1\n`);
    const { mode, uid, gid } = statSync(path);
    expect(mode & 0o777).toBe(0o664);
    if (isRoot) expect([uid, gid]).toEqual([12, 34]);
    expect(readFileSync(`${path}.muster-backup`, 'latin1')).toBe(before);
    expect(readdirSync(directory).sort()).toEqual(['hosts', 'hosts.muster-backup', 'hosts.muster-lock']);
  });

  it('that changes nothing leaves the file and its backup alone', async () => {
    writeFileSync(path, 'a\n');
    const { ino, mtimeMs } = statSync(path);
    await new HostsWriter(path).update(textOf);
    expect(statSync(path)).toMatchObject({ ino, mtimeMs });
    expect(existsSync(`${path}.muster-backup`)).toBe(false);
  });

  it('makes a file that is not there, readable for everybody', async () => {
    const umask = process.umask(0o077);
    await new HostsWriter(path).update(adding('10.0.0.1 n1\n'));
    process.umask(umask);
    expect(text()).toBe('127.0.0.1 localhost\n10.0.0.1 n1\n');
    expect(statSync(path).mode & 0o777).toBe(0o644);
  });

  it('goes where a link leads and leaves the link', async () => {
    mkdirSync(join(directory, 'real'));
    writeFileSync(join(directory, 'real/file'), 'a\n');
    symlinkSync('real/file', path);
    await new HostsWriter(path).update(adding('b\n'));
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(directory, 'real/file'), 'utf8')).toBe('a\nb\n');
  });

  it('refuses a link that leads nowhere, and what is no file', async () => {
    symlinkSync('nowhere', path);
    await expect(new HostsWriter(path).update(adding('b\n'))).rejects.toThrow(/could not be changed.*ENOENT/);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    rmSync(path);
    mkdirSync(path);
    await expect(new HostsWriter(path).update(adding('b\n'))).rejects.toThrow('as it was: it is not a file.');
    expect(() => readHosts(path)).toThrow(`The hosts file ${path} cannot be read: it is not a file.`);
  });

  it('takes in what an editor has written meanwhile', async () => {
    writeFileSync(path, 'a\n');
    let edited = false;
    await new HostsWriter(path).update((lines) => {
      if (!edited) appendFileSync(path, 'edited\n');
      edited = true;
      return adding('b\n')(lines);
    });
    expect(text()).toBe('a\nedited\nb\n');
  });

  it('gives up when the file never stands still, and leaves it', async () => {
    writeFileSync(path, 'a\n');
    const restless = new HostsWriter(path).update((lines) => {
      appendFileSync(path, 'x\n');
      return adding('b\n')(lines);
    });
    await expect(restless).rejects.toMatchObject({ kind: 'unavailable' });
    expect(text()).not.toContain('b\n');
  });

  it('waits for a process that has the lock, and says so when it lasts', async () => {
    writeFileSync(path, 'a\n');
    const lock = tryLock(`${path}.muster-lock`)!;
    const patient = new HostsWriter(path).update(adding('b\n'));
    await setTimeout(100);
    expect(text()).toBe('a\n');
    lock.release();
    await patient;
    expect(text()).toBe('a\nb\n');
    const again = tryLock(`${path}.muster-lock`)!;
    await expect(new HostsWriter(path, 200).update(adding('c\n'))).rejects.toThrow('Another process is changing');
    again.release();
  });

  it('that fails leaves the file and is not in the way of the next', async () => {
    writeFileSync(path, 'a\n');
    const writer = new HostsWriter(path);
    const failed = writer.update(() => {
      throw new Error('no');
    });
    const next = writer.update(adding('b\n'));
    await expect(failed).rejects.toThrow(`The hosts file ${path} could not be changed and is as it was: no.`);
    await next;
    expect(text()).toBe('a\nb\n');
  });

  it.skipIf(!isRoot)('leaves the file as it was when the disk is full', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'none', directory]);
    undo.push(() => execFileSync('umount', [directory]));
    writeFileSync(path, 'a\n');
    const writer = new HostsWriter(path);
    await expect(writer.update(adding('#'.repeat(400_000)))).rejects.toThrow(/could not be changed.*ENOSPC/);
    expect(text()).toBe('a\n');
    await writer.update(adding('b\n'));
    expect(text()).toBe('a\nb\n');
  });

  it('removes what killed processes have left, and nothing else', async () => {
    writeFileSync(path, 'a\n');
    const left = ['hosts.77.tmp', 'hosts.muster-backup.77.tmp', 'hosts.muster-new.77.tmp'];
    const others = ['hosts.tmp', 'hosts.allow', 'hosts.77.tmp.keep', 'ahosts.77.tmp'];
    for (const name of [...left, ...others]) writeFileSync(join(directory, name), 'half');
    await new HostsWriter(path).update(adding('b\n'));
    expect(readdirSync(directory).filter((name) => left.includes(name))).toEqual([]);
    expect(
      readdirSync(directory)
        .filter((name) => others.includes(name))
        .sort(),
    ).toEqual(others.sort());
  });
});

describe.skipIf(!isRoot)('a hosts file that is mounted by itself', () => {
  beforeEach(() => {
    writeFileSync(path, 'a\n'.repeat(1_000));
    execFileSync('mount', ['--bind', path, path]);
    undo.push(() => execFileSync('umount', [path]));
  });

  it('is written in place, longer or shorter, after the backup', async () => {
    const { ino } = statSync(path);
    const writer = new HostsWriter(path);
    await writer.update(() => 'b\n'.repeat(2_000));
    expect(text()).toBe('b\n'.repeat(2_000));
    expect(readFileSync(`${path}.muster-backup`, 'utf8')).toBe('a\n'.repeat(1_000));
    await writer.update(() => 'c\n');
    expect(text()).toBe('c\n');
    expect(statSync(path).ino).toBe(ino);
    expect(readdirSync(directory).sort()).toEqual(['hosts', 'hosts.muster-backup', 'hosts.muster-lock']);
  });

  it('is completed at the next start after a kill in the middle', async () => {
    writeFileSync(`${path}.muster-backup`, 'a\na\na\na\n');
    writeFileSync(`${path}.muster-new`, 'new\n');
    writeFileSync(path, 'new\na\na\n');
    await new HostsWriter(path).finishInterrupted();
    expect(text()).toBe('new\n');
    expect(existsSync(`${path}.muster-new`)).toBe(false);
  });

  it('is whole again after kills at any moment', async () => {
    const whole = /^(a\n)*(10\.9\.0\.1 \w+-\d+\n)*(#{3000000} end\n)?$/;
    for (let round = 0; round < 5; round++) {
      const child = writerProcess(`r${round}`, 1_000, 3_000_000);
      await once(child.stdout!, 'data');
      await setTimeout(Math.random() * 60);
      child.kill('SIGKILL');
      await once(child, 'close');
      await new HostsWriter(path).finishInterrupted();
      expect(whole.test(text())).toBe(true);
    }
  });

  it.each([
    ['was generated again', (file: string) => writeFileSync(file, 'other\n')],
    ['nothing has happened to', () => {}],
  ])('is not touched at the next start if it %s since', async (_name, happens) => {
    writeFileSync(`${path}.muster-backup`, text());
    writeFileSync(`${path}.muster-new`, 'new\n');
    happens(path);
    const before = text();
    await new HostsWriter(path).finishInterrupted();
    expect(text()).toBe(before);
    expect(existsSync(`${path}.muster-new`)).toBe(false);
  });

  it('that cannot be written stays, and a change that failed is not made later', async () => {
    const before = text();
    execFileSync('mount', ['-o', 'remount,ro,bind', path]);
    await expect(new HostsWriter(path).update(adding('b\n'))).rejects.toThrow(/could not be changed.*EROFS/);
    execFileSync('mount', ['-o', 'remount,rw,bind', path]);
    appendFileSync(path, 'edited\n');
    await new HostsWriter(path).update(adding('c\n'));
    expect(text()).toBe(`${before}edited\nc\n`);
  });
});

function writerProcess(name: string, count: number, padding = 0): ChildProcess {
  const script = join(import.meta.dirname, 'writer-process.ts');
  const child = spawn(process.execPath, [script, path, name, String(count), String(padding)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  undo.push(() => child.kill('SIGKILL'));
  return child;
}

const linesOf = (name: string): string[] => text().match(new RegExp(`${name}-\\d+$`, 'gm')) ?? [];

describe('several writers', () => {
  it('of several processes lose no change of each other', async () => {
    writeFileSync(path, '# foreign\n');
    const children = ['a', 'b'].map((name) => writerProcess(name, 40));
    const here = new HostsWriter(path);
    await Promise.all([
      ...children.map(async (child) => expect(await once(child, 'close')).toEqual([0, null])),
      ...Array.from({ length: 40 }, (_, i) => here.update((lines) => `10.9.0.1 c-${i}\n${textOf(lines)}`)),
    ]);
    for (const name of ['a', 'b', 'c']) expect(linesOf(name)).toHaveLength(40);
    expect(text()).toContain('# foreign\n');
  });

  it('lose next to nothing of a program that knows no lock', async () => {
    writeFileSync(path, '# foreign\n');
    const script = `for i in $(seq 300); do echo "10.8.0.1 app-$i" >> "$0"; sleep 0.005; done`;
    const program = spawn('bash', ['-c', script, path], { stdio: 'inherit' });
    const writer = new HostsWriter(path);
    let running = true;
    const ended = once(program, 'close').then(() => (running = false));
    let changes = 0;
    while (running) {
      await writer
        .update((lines) => `10.9.0.1 c-${changes}\n${textOf(lines)}`)
        .then(
          () => changes++,
          (error: unknown) => expect(error).toMatchObject({ kind: 'unavailable' }),
        );
      await setTimeout(5);
    }
    await ended;
    expect(linesOf('c')).toHaveLength(changes);
    expect(linesOf('app').length).toBeGreaterThanOrEqual(290);
  });

  it('that are killed at any moment leave a whole file, old or new', async () => {
    const whole = /^# foreign\n(10\.9\.0\.1 \w+-\d+\n)*(#{500000} end\n)?$/;
    writeFileSync(path, '# foreign\n');
    let looks = 0;
    for (let round = 0; round < 12; round++) {
      const child = writerProcess(`r${round}`, 1_000, 500_000);
      let told = -1;
      child.stdout!.on('data', (chunk: Buffer) => (told = Number(chunk.toString().trim().split('\n').at(-1))));
      await once(child.stdout!, 'data');
      const until = Date.now() + 20 + Math.random() * 60;
      while (Date.now() < until) {
        expect(whole.test(text())).toBe(true);
        looks++;
        await setTimeout(1);
      }
      child.kill('SIGKILL');
      await once(child, 'close');
      expect(whole.test(text())).toBe(true);
      const written = linesOf(`r${round}`).length;
      expect(written).toBeGreaterThan(told);
      expect(written).toBeLessThanOrEqual(told + 3);
    }
    expect(looks).toBeGreaterThanOrEqual(12);
    await new HostsWriter(path).update(adding('last\n'));
    expect(readdirSync(directory).sort()).toEqual(['hosts', 'hosts.muster-backup', 'hosts.muster-lock']);
  });
});
