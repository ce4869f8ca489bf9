import { randomBytes } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { abortFault } from '../../protocols/ssh/faults.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { putFile } from '../../protocols/ssh/sftp/put.ts';
import { fileKinds, kindOf } from '../../protocols/ssh/sftp/wire.ts';
import { type Cargo, type CargoItem, join } from './cargo.ts';
import type { LocalFiles } from './local-files.ts';

/**
 * Puts cargo on a node. A target that is a directory, ends with a slash, or gets more than a single file is a directory, which is
 * made if it is missing; else it is the file's new name. Each file appears complete or not at all.
 */
export async function deliver(
  files: RemoteFiles,
  cargo: Cargo,
  local: LocalFiles,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const there = Buffer.from(target);
  const [single] = cargo.items;
  if (
    cargo.items.length === 1 &&
    single!.kind === 'file' &&
    !target.endsWith('/') &&
    !(await isDirectory(files, there))
  ) {
    await local.use(single!.from, (source) => putFile(files, source, there, signal));
    return;
  }
  await makeDirectories(files, there);
  const directories: CargoItem[] = [];
  for (const item of cargo.items) {
    if (signal.aborted) throw abortFault(signal);
    const path = join(there, item.name);
    if (item.kind === 'file') await local.use(item.from, (source) => putFile(files, source, path, signal));
    else if (item.kind === 'link') await putLink(files, path, item.destination!);
    else {
      directories.push(item);
      if (!(await isDirectory(files, path))) await files.makeDirectory(path, item.mode | 0o700);
    }
  }
  // What is put into a directory changes its time, and it may not be writable in the end.
  for (const { name, mode, accessed, modified } of directories.reverse()) {
    await files.setAttributes(join(there, name), { mode, accessed, modified });
  }
}

export async function isDirectory(files: RemoteFiles, path: Buffer): Promise<boolean> {
  return kindOf(await files.stat(path)) === fileKinds.directory;
}

/** The directory and those it is in, as far as they are missing; `mode` is its own. */
export async function makeDirectories(files: RemoteFiles, path: Buffer, mode = 0o755): Promise<void> {
  if (await isDirectory(files, path)) return;
  const end = path.at(-1) === 0x2f ? path.length - 1 : path.length;
  const mark = path.lastIndexOf('/', end - 1);
  if (mark > 0) await makeDirectories(files, path.subarray(0, mark));
  try {
    await files.makeDirectory(path.subarray(0, end), mode);
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(error instanceof Fault && (await isDirectory(files, path)))) throw error;
  }
}

/** Under a temporary name first, so that it takes the place of another in one step. */
export async function putLink(files: RemoteFiles, path: Buffer, destination: Buffer): Promise<void> {
  const mark = path.lastIndexOf('/') + 1;
  const name = Buffer.from(`.${randomBytes(6).toString('hex')}.muster`);
  const temporary = Buffer.concat([path.subarray(0, mark), name]);
  await files.makeLink(temporary, destination);
  try {
    await files.rename(temporary, path);
  } catch (error) {
    await files.remove(temporary).catch(() => undefined);
    throw error;
  }
}
