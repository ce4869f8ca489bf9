import { spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExecOptions, Exit, Output } from '../../../src/protocols/ssh/target.ts';
import { type CargoItem, loadCargo, pathKey } from '../../../src/nodes/remote/cargo.ts';
import type { TreeArchive } from '../../../src/nodes/remote/tree-layout.ts';
import { LocalFiles } from '../../../src/nodes/remote/local-files.ts';
import { unpack } from '../../../src/nodes/remote/unpack.ts';
import { temporaryDirectory } from '../../harness/server.ts';

const signal = new AbortController().signal;
/** Of tests; root may write everywhere, this one may not. */
const nobody = 65_534;

/** A node that is a shell here; it gets so many bytes of what it is sent. */
function shell({ most = Infinity, path = process.env['PATH'] ?? '' } = {}) {
  return {
    async exec(command: string, output: Output, { stdin }: Pick<ExecOptions, 'stdin'> = {}): Promise<Exit> {
      const child = spawn('/bin/sh', ['-c', command], { cwd: '/', env: { PATH: path }, uid: nobody, gid: nobody });
      child.stdout.on('data', (chunk: Buffer) => void output.stdout(chunk));
      child.stderr.on('data', (chunk: Buffer) => void output.stderr(chunk));
      child.stdin.on('error', () => undefined);
      const ended = new Promise<Exit>((resolve) =>
        child.once('close', (code, name) => resolve({ code: code ?? undefined, signal: name ?? undefined })),
      );
      const feed = async (): Promise<void> => {
        let left = most;
        try {
          for await (const chunk of stdin as AsyncIterable<Buffer>) {
            child.stdin.write(chunk.subarray(0, Math.min(left, chunk.length)));
            left -= chunk.length;
            if (left <= 0) break;
          }
        } finally {
          child.stdin.end();
        }
      };
      let broken: Error | undefined;
      feed().catch((error: Error) => (broken = error));
      const exit = await ended;
      if (broken) throw broken;
      return exit;
    },
  };
}

interface Tree {
  readonly source: string;
  readonly target: string;
  readonly local: LocalFiles;
  archive(existing?: readonly string[]): Promise<TreeArchive>;
}

function newTree(): Tree {
  const directory = temporaryDirectory();
  chmodSync(directory, 0o755);
  const [source, target] = [join(directory, 'tree'), join(directory, 'target')];
  mkdirSync(source);
  mkdirSync(target);
  chownSync(target, nobody, nobody);
  const local = new LocalFiles();
  return {
    source,
    target,
    local,
    async archive(existing = []) {
      const { items } = await loadCargo([{ path: source, real: source }]);
      const placed = items.map((item) => ({
        item,
        path: Buffer.concat([Buffer.from(`${target}/`), item.name]),
        key: pathKey(item.name),
      }));
      const options = { placed, existing: new Set(existing), attributesOf: (item: CargoItem) => item };
      return local.withArchive(options, async (archive) => archive!);
    },
  };
}

/** A directory of these programs alone. */
function programs(all: Readonly<Record<string, string>>): string {
  const directory = temporaryDirectory();
  chmodSync(directory, 0o755);
  for (const [name, program] of Object.entries(all)) symlinkSync(program, join(directory, name));
  return directory;
}

const leftIn = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.muster'));

describe('unpacking a tree', () => {
  it('leaves nothing and changes nothing when the archive is cut off, wherever that is', async () => {
    const { source, target, archive } = newTree();
    for (const name of ['a', 'b', 'c']) writeFileSync(join(source, name), `new ${name}`);
    mkdirSync(join(target, 'tree'));
    for (const name of ['a', 'b']) writeFileSync(join(target, 'tree', name), `old ${name}`);
    for (const name of ['.', 'tree', 'tree/a', 'tree/b']) chownSync(join(target, name), nobody, nobody);
    const made = await archive(['/tree']);
    const end = (await made.piece(0)).lastIndexOf('set -e');
    // Between all members too: programs take that for the end of an archive.
    for (let most = 512; most < end; most += 512) {
      const cut = unpack(shell({ most }), made, { base: target, keepOwner: false, signal });
      const result = await cut.then(
        (done) => (done ? 'done' : 'unable'),
        (error: Error) => error.message,
      );
      expect(result, String(most)).toMatch(/unable|could not all be put in their place/);
      expect(readdirSync(join(target, 'tree')), String(most)).toEqual(['a', 'b']);
      expect(readFileSync(join(target, 'tree/a'), 'utf8')).toBe('old a');
      expect(leftIn(target)).toEqual([]);
    }
    expect(await unpack(shell(), made, { base: target, keepOwner: false, signal })).toBe(true);
    expect(readFileSync(join(target, 'tree/a'), 'utf8')).toBe('new a');
    expect(leftIn(target)).toEqual([]);
  });

  it('makes pieces once for all nodes', async () => {
    const { source, target, archive } = newTree();
    for (let index = 0; index < 40; index++) writeFileSync(join(source, String(index)), Buffer.alloc(40_000, index));
    const made = await archive();
    expect(made.pieces).toBeGreaterThan(3);
    for (const name of ['one', 'two']) {
      const base = join(target, name);
      mkdirSync(base);
      chownSync(base, nobody, nobody);
      expect(await unpack(shell(), made, { base, keepOwner: false, signal })).toBe(true);
      for (let index = 0; index < 40; index++)
        expect(readFileSync(join(base, 'tree', String(index))).equals(Buffer.alloc(40_000, index))).toBe(true);
    }
    expect(made.made).toBe(made.pieces);
    expect(await archive()).toBe(made);
  });

  it('is done with few archives at a time, and those that nobody uses any more make room', async () => {
    const local = new LocalFiles();
    const item = { kind: 'link', from: Buffer.from('/x'), name: Buffer.from('x'), mode: 0o777, size: 0 } as CargoItem;
    const names = Array.from({ length: 9 }, (_, index) => `/${index}`);
    const use = (key: string, until: Promise<void>): Promise<boolean> => {
      const placed = [{ item: { ...item, destination: Buffer.from('y'), modified: 0 }, path: Buffer.from(key), key }];
      return local.withArchive({ placed, existing: new Set(), attributesOf: (each) => each }, async (archive) => {
        await until;
        return archive !== undefined;
      });
    };
    let end = (): void => undefined;
    const until = new Promise<void>((resolve) => (end = resolve));
    const uses = names.map((name) => use(name, until));
    end();
    expect(await Promise.all(uses)).toEqual([...Array(8).fill(true), false]);
    expect(await use('/8', Promise.resolve())).toBe(true);
  });

  it('moves directories that nobody may write to, and sets their times', async () => {
    const { source, target, archive } = newTree();
    mkdirSync(join(source, 'inner'));
    writeFileSync(join(source, 'inner/file'), 'x');
    for (const name of ['inner', '.']) chmodSync(join(source, name), 0o555);
    utimesSync(source, 1_000_000_000, 1_000_000_000);
    const made = await archive();
    expect(await unpack(shell(), made, { base: target, keepOwner: false, signal })).toBe(true);
    for (const name of ['tree', 'tree/inner']) expect(lstatSync(join(target, name)).mode & 0o7777).toBe(0o555);
    expect(lstatSync(join(target, 'tree')).mtimeMs).toBe(1e12);
    expect(lstatSync(join(target, 'tree')).uid).toBe(nobody);
  });

  it('sends no file that became shorter, and of one that grew what it was', async () => {
    const { source, target, archive } = newTree();
    for (const name of ['grows', 'shrinks']) writeFileSync(join(source, name), 'x'.repeat(2_000));
    const made = await archive();
    appendFileSync(join(source, 'grows'), 'more');
    expect(await unpack(shell(), made, { base: target, keepOwner: false, signal })).toBe(true);
    expect(readFileSync(join(target, 'tree/grows'), 'utf8')).toBe('x'.repeat(2_000));
    const other = newTree();
    for (const name of ['grows', 'shrinks']) writeFileSync(join(other.source, name), 'x'.repeat(2_000));
    const broken = await other.archive();
    truncateSync(join(other.source, 'shrinks'), 1_000);
    await expect(unpack(shell(), broken, { base: other.target, keepOwner: false, signal })).rejects.toThrow(
      /shrinks cannot be sent: it became shorter while it was read/,
    );
    expect(readdirSync(other.target)).toEqual([]);
  });

  it('sends nothing that a link was put in place of', async () => {
    const { source, target, archive } = newTree();
    writeFileSync(join(source, 'file'), 'x');
    const made = await archive();
    const away = join(temporaryDirectory(), 'elsewhere');
    writeFileSync(away, 'secret');
    rmSync(join(source, 'file'));
    symlinkSync(away, join(source, 'file'));
    await expect(unpack(shell(), made, { base: target, keepOwner: false, signal })).rejects.toThrow(/cannot be sent/);
    expect(existsSync(join(target, 'tree'))).toBe(false);
  });

  it('is left to other ways where there is no tar', async () => {
    const { source, target, archive } = newTree();
    writeFileSync(join(source, 'file'), 'x');
    const path = programs({ sh: '/bin/sh', rm: '/bin/rm' });
    expect(await unpack(shell({ path }), await archive(), { base: target, keepOwner: false, signal })).toBe(false);
    expect(readdirSync(target)).toEqual([]);
  });

  it('is done by busybox alone', async () => {
    const { source, target, archive } = newTree();
    mkdirSync(join(source, "it's \\ \n"));
    for (const name of ["it's \\ \n/a", 'x'.repeat(200)]) writeFileSync(join(source, name), 'x');
    symlinkSync('/etc/shadow', join(source, 'link'));
    chmodSync(source, 0o555);
    utimesSync(source, 1_000_000_000, 1_000_000_000);
    const busybox = '/bin/busybox';
    const path = programs({ sh: busybox, tar: busybox, mv: busybox, rm: busybox, chmod: busybox });
    expect(await unpack(shell({ path }), await archive(), { base: target, keepOwner: false, signal })).toBe(true);
    const all = (directory: string): string[] => readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
    expect(all(join(target, 'tree'))).toEqual(all(source));
    const { mode, mtimeMs } = lstatSync(join(target, 'tree'));
    expect([mode & 0o7777, mtimeMs]).toEqual([0o555, 1e12]);
    expect(leftIn(target)).toEqual([]);
  });
});
