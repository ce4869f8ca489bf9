import { Fault } from '../../core/errors.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { temporaryEnding } from '../../protocols/ssh/sftp/temporary-names.ts';
import { fileKinds, kindOf } from '../../protocols/ssh/sftp/wire.ts';

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
  const name = Buffer.from(temporaryEnding());
  const temporary = Buffer.concat([path.subarray(0, mark), name]);
  await files.makeLink(temporary, destination);
  try {
    await files.rename(temporary, path);
  } catch (error) {
    await files.remove(temporary).catch(() => undefined);
    throw error;
  }
}
