import { asTheyCome } from '../../core/as-they-come.ts';
import { CollectedOutput } from '../../protocols/ssh/collected.ts';
import { commandLine } from '../../core/shell-words.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { SftpRefusal } from '../../protocols/ssh/sftp/session.ts';
import { madeAt } from '../../protocols/ssh/sftp/temporary-names.ts';
import { fileKinds, kindOf } from '../../protocols/ssh/sftp/wire.ts';
import { join, parentOf } from './cargo.ts';
import type { RemoteNode } from './remote-nodes.ts';

/** Milliseconds after which a copy is over, whatever became of it. */
const longestCopy = 24 * 60 * 60 * 1_000;
const asksAtOnce = 16;
/** Names of a directory that are looked at; one may have millions. */
const maximumNames = 10_000;

export interface Sweeping {
  readonly node: Pick<RemoteNode, 'exec'>;
  readonly files: RemoteFiles;
  readonly signal: AbortSignal;
}

/** Removes what copies that were killed have left in the directories that these paths are in. */
export async function removeLeftovers({ node, files, signal }: Sweeping, paths: Iterable<Buffer>): Promise<void> {
  const directories = new Map<string, Buffer>();
  for (const path of paths) {
    const parent = parentOf(path);
    directories.set(parent.toString('latin1'), parent);
  }
  const trees: string[] = [];
  const sweep = async (directory: Buffer): Promise<void> => {
    for (const { name, attributes } of await files.list(directory, maximumNames)) {
      const made = madeAt(name.toString('latin1'));
      if (made === undefined || made > Date.now() - longestCopy) continue;
      const path = join(directory, name);
      if (kindOf(attributes) !== fileKinds.directory) await files.remove(path).catch(mayStay);
      // A command can name only what is UTF-8; trees are unpacked nowhere else.
      else if (Buffer.from(path.toString()).equals(path)) trees.push(path.toString());
    }
  };
  for await (const _ of asTheyCome([...directories.values()], asksAtOnce, (each) => sweep(each).catch(mayStay)));
  if (trees.length === 0) return;
  const command = `exec ${commandLine(['rm', '-rf', '--', ...trees])}`;
  await node.exec(command, new CollectedOutput(0), { commandTimeout: 0, signal });
}

/** Who may not list a directory or remove from it can still be one who may write files that are there. */
function mayStay(error: unknown): void {
  if (!(error instanceof SftpRefusal)) throw error;
}
