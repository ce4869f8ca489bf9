import { lstatSync, linkSync, mkdirSync, rmSync, statfsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import type { Checksum, MediumChecksums, WholeSum } from './checksums.ts';
import { copyFiles, differs } from './copy-files.ts';
import { type MediumFile, placeKey } from './iso/scan.ts';
import type { Medium } from './medium.ts';

/** How the copy is checked. */
export interface Verification {
  readonly files: MediumChecksums;
  readonly whole: WholeSum | undefined;
}

/**
 * Puts all of a medium into a directory, over what is there: that is a staging, whose files may be shared with the tree in use, so
 * each file is made again and none is written into.
 */
export async function buildTree(
  root: string,
  medium: Medium,
  { files, whole }: Verification,
  task: Work,
): Promise<void> {
  const { contents, iso } = medium;
  const { first, further } = byPlace(iso.name, contents.files, files);
  const total = first.reduce((sum, { size }) => sum + size, 0);
  checkFreeSpace(root, total, iso.name);
  for (const path of contents.directories) provideDirectory(join(root, path));
  for (const { path } of [...contents.files, ...contents.links])
    rmSync(join(root, path), { recursive: true, force: true });
  let done = 0;
  await copyFiles({
    fd: iso.fd,
    name: iso.name,
    root,
    files: first.map((file) => ({ ...file, checksum: files.ofFiles.get(file.path) })),
    whole,
    signal: task.signal,
    progress(bytes) {
      done += bytes;
      task.progress(done, total);
    },
  });
  for (const [path, same] of further) linkSync(join(root, same), join(root, path));
  for (const { path, target } of contents.links) symlinkSync(target, join(root, path));
}

interface ByPlace {
  readonly first: readonly MediumFile[];
  /** Another name of a file, and the one that is copied. */
  readonly further: readonly (readonly [path: string, same: string])[];
}

/** Files that are one on the medium become one here; of their names the one whose content can be verified is copied. */
function byPlace(name: string, files: readonly MediumFile[], { ofFiles }: MediumChecksums): ByPlace {
  const places = new Map<string, MediumFile[]>();
  const first: MediumFile[] = [];
  for (const file of files) {
    if (file.size === 0) first.push(file);
    else {
      const key = `${placeKey(file)} ${file.isExecutable}`;
      const same = places.get(key);
      if (same) same.push(file);
      else places.set(key, [file]);
    }
  }
  const further: [string, string][] = [];
  for (const same of places.values()) {
    const chosen = same.find(({ path }) => ofFiles.has(path)) ?? same[0]!;
    first.push(chosen);
    for (const file of same) {
      if (file === chosen) continue;
      checkSame(name, file.path, ofFiles.get(file.path), ofFiles.get(chosen.path));
      further.push([file.path, chosen.path]);
    }
  }
  return { first, further };
}

/** The content of one place cannot have two checksums. */
function checkSame(name: string, path: string, own: Checksum | undefined, chosen: Checksum | undefined): void {
  if (own && own.algorithm === chosen?.algorithm && own.digest !== chosen.digest) throw differs(name, path);
}

function checkFreeSpace(root: string, needed: number, name: string): void {
  const { bavail, bsize } = statfsSync(root);
  const free = bavail * bsize;
  if (needed <= free) return;
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1_000_000)} MB`;
  throw new Fault(
    'invalid',
    `The files of ${name} need ${megabytes(needed)}, and only ${megabytes(free)} are free: free some space and try again.`,
  );
}

/** A link that is there would lead elsewhere. */
function provideDirectory(path: string): void {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status?.isDirectory()) return;
  if (status) rmSync(path);
  mkdirSync(path, { mode: 0o755 });
}
