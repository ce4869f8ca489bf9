import { createHash } from 'node:crypto';
import { fileKinds } from '../../protocols/ssh/sftp/wire.ts';
import type { CargoItem, Placed } from '../remote/cargo.ts';
import type { NodeShell } from './node-shell.ts';

/** So many files are worth a command. */
const worthACommand = 64;
const together = 256;
/** Bytes that a node answers for those together: the hash, `  -` and the end of the line. */
const answer = 68;

/**
 * Those files of which a node may not have the size, time, mode and owner they have here. Usually it has all of them, and then a hash of
 * what it says of many is the same as here, which costs far less than their answers one by one. A node without the programs for that
 * may not have any.
 */
export async function perhapsChanged<T extends Placed>(
  shell: NodeShell,
  files: readonly T[],
  keepOwner: boolean,
): Promise<readonly T[]> {
  if (files.length < worthACommand) return files;
  const chunks = Array.from({ length: Math.ceil(files.length / together) }, (_, index) =>
    files.slice(index * together, (index + 1) * together),
  );
  const format = keepOwner ? '%f %s %Y %u %g' : '%f %s %Y';
  const command = `xargs -0 -n ${together} sh -c 'stat -c "${format}" "$@" 2> /dev/null | sha256sum' sh`;
  const names = Buffer.concat(files.flatMap(({ path }) => [path, Buffer.alloc(1)]));
  const lines = await shell.ask(command, chunks.length * answer, names);
  const there = lines.flatMap((line) => /^([0-9a-f]{64}) {2}-$/.exec(line)?.[1] ?? []);
  if (there.length !== chunks.length) return files;
  return chunks.filter((chunk, index) => stateOf(chunk, keepOwner) !== there[index]).flat();
}

function stateOf(files: readonly Placed[], keepOwner: boolean): string {
  const line = ({ mode, size, modified, uid, gid }: CargoItem): string =>
    [(fileKinds.regular | mode).toString(16), size, modified, ...(keepOwner ? [uid, gid] : [])].join(' ');
  return createHash('sha256')
    .update(files.map(({ item }) => `${line(item)}\n`).join(''))
    .digest('hex');
}
