import { join as joinPath } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { join, pathKey, type Placed } from '../remote/cargo.ts';
import { isDirectory } from '../remote/remote-paths.ts';
import type { NodePlan, PlannedRule } from './node-plan.ts';
import { pathOnNode, sourceOf, type WantedTree } from './wanted-files.ts';

/** A file of the node by the name of its source in the list. */
export interface Copied extends Placed {
  readonly source: string;
  /** The line that says so. */
  readonly where: string;
}

/** All files of a plan; what a later line says of the same path counts. */
export async function copiesOf(files: RemoteFiles, plan: NodePlan, storage: string): Promise<readonly Copied[]> {
  const copies = new Map<string, Copied>();
  for (const rule of plan.copies) for (const copy of await placed(files, rule)) copies.set(copy.key, copy);
  checkAppends(plan.appends, copies);
  for (const { item, path: source, where } of plan.looseScripts) {
    const path = Buffer.from(joinPath(storage, 'scripts', source));
    copies.set(pathKey(path), { item, path, source, where, key: pathKey(path) });
  }
  return [...copies.values()];
}

/** What is put behind a file is put behind the file as the node had it, so nothing else may bring that file. */
function checkAppends(appends: readonly PlannedRule[], copies: ReadonlyMap<string, Copied>): void {
  for (const { destination, where } of appends) {
    const copy = copies.get(pathKey(Buffer.from(destination)));
    if (!copy) continue;
    throw new Fault(
      'invalid',
      `${copy.where} copies a file to ${destination}, and ${where} appends to it; leave one of them out.`,
    );
  }
}

/** What of a rule goes where on the node; a file whose destination is a directory there goes into it. */
async function placed(files: RemoteFiles, rule: PlannedRule): Promise<readonly Copied[]> {
  const copies: Copied[] = [];
  for (const tree of rule.trees) {
    const destination = Buffer.from(rule.destination);
    const isFile = tree.items[0]!.kind !== 'directory';
    const inside = rule.intoDirectory || (isFile && (await isDirectory(files, destination)));
    const top = inside ? join(destination, tree.items[0]!.name) : destination;
    for (const copy of copiesTo(tree, top, rule.where)) copies.push(copy);
  }
  return copies;
}

/** Kept as long as the trees are: thousands of files times hundreds of nodes would not fit into memory. */
const cache = new WeakMap<WantedTree, Map<string, readonly Copied[]>>();

function copiesTo(tree: WantedTree, top: Buffer, where: string): readonly Copied[] {
  const byPath = cache.get(tree) ?? new Map<string, readonly Copied[]>();
  cache.set(tree, byPath);
  const name = top.toString('latin1');
  let copies = byPath.get(name);
  if (!copies) {
    copies = tree.items.map((item) => {
      const path = pathOnNode(item, top);
      return { item, path, source: sourceOf(tree, item), where, key: pathKey(path) };
    });
    byPath.set(name, copies);
  }
  return copies;
}
