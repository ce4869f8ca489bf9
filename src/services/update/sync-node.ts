import { dirname, join as joinPath, normalize } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { commandLine } from '../../protocols/ssh/quote.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { join } from '../remote/cargo.ts';
import { isDirectory, makeDirectories } from '../remote/deliver.ts';
import { DueScripts } from './due-scripts.ts';
import { appendFiles, mergeFiles } from './join-files.ts';
import { type Placed, sendChanged, type Sending } from './send-changed.ts';
import type { NodePlan, PlannedRule } from './sync-plan.ts';
import type { SyncScript } from './synclist.ts';
import { placeOf, sourceOf, type WantedTree } from './wanted-files.ts';

/** A file of the node by the name of its source in the list. */
interface Copied extends Placed {
  readonly source: string;
  /** The line that says so. */
  readonly where: string;
}

/** Gives a node the files of its plan and runs what has to be run; what that printed. */
export async function syncNode(sending: Sending, plan: NodePlan, storage: string): Promise<readonly string[]> {
  // What a later line says of the same place counts.
  const places = new Map<string, Copied>();
  for (const rule of plan.copies)
    for (const copy of await placed(sending.files, rule)) places.set(placeKey(copy.path), copy);
  checkAppends(plan.appends, places);
  const copies = [...places.values()];
  const due = new DueScripts(sending.files, storage);
  // A script may be for other nodes only.
  const scripts = plan.scripts.filter(({ path }) => copies.some(({ source }) => source === path));
  const scriptsFor = (sources: Iterable<string>): SyncScript[] => {
    const names = new Set(sources);
    return scripts.filter(({ path }) => names.has(path.slice(0, -'.post'.length)));
  };
  await sendChanged(sending, copies, async (changed) => {
    for (const { path } of scriptsFor(changed.map(({ source }) => source))) await due.add(path);
  });
  // Whether joining changes a file is known afterwards only.
  const perhaps: string[] = [];
  for (const { path } of scriptsFor([...plan.appends, ...plan.merges].flatMap(({ sources }) => sources)))
    if (!(await due.has(path))) perhaps.push(path);
  for (const path of perhaps) await due.add(path);
  const joined = scriptsFor(await joinAll(sending, plan, storage)).map(({ path }) => path);
  for (const path of new Set(perhaps)) if (!joined.includes(path)) await due.remove(path);
  let lines: readonly string[] = [];
  for (const script of scripts) {
    if (!(await due.has(script.path))) continue;
    lines = lines.concat(await runScript(sending, script, copies));
    await due.remove(script.path);
  }
  for (const script of plan.scriptsAlways) lines = lines.concat(await runScript(sending, script, copies));
  return lines;
}

const placeKey = (path: Buffer): string => normalize(path.toString('latin1'));

/** What is put behind a file is put behind the file as the node had it, so nothing else may bring that file. */
function checkAppends(appends: readonly PlannedRule[], places: ReadonlyMap<string, Copied>): void {
  for (const { destination, where } of appends) {
    const copy = places.get(placeKey(Buffer.from(destination)));
    if (!copy) continue;
    throw new Fault(
      'invalid',
      `${copy.where} copies a file to ${destination}, and ${where} appends to it; leave one of them out.`,
    );
  }
}

/** What of a rule goes where on the node; a file whose destination is a directory there goes into it. */
async function placed(files: RemoteFiles, rule: PlannedRule): Promise<Copied[]> {
  const copies: Copied[] = [];
  for (const tree of rule.trees) {
    const destination = Buffer.from(rule.destination);
    const isFile = tree.items[0]!.kind !== 'directory';
    const inside = rule.intoDirectory || (isFile && (await isDirectory(files, destination)));
    const top = inside ? join(destination, tree.items[0]!.name) : destination;
    for (const item of tree.items)
      copies.push({ item, path: placeOf(item, top), source: sourceOf(tree, item), where: rule.where });
  }
  return copies;
}

/** Files that are joined with others; the sources whose destination changed. */
async function joinAll(sending: Sending, { appends, merges }: NodePlan, storage: string): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const [kind, rules] of [
    ['append', appends],
    ['merge', merges],
  ] as const) {
    for (const [destination, together] of byDestination(rules)) {
      const copies = together.flatMap(({ trees }) => trees.map((tree) => stored(tree, joinPath(storage, kind))));
      await sendChanged(sending, copies);
      await prepare(sending.files, together[0]!);
      const paths = copies.map(({ path }) => path.toString());
      const isNew =
        kind === 'append'
          ? await appendFiles(sending.shell, destination, joinPath(storage, 'org', destination), paths)
          : await mergeFiles(sending.shell, destination, paths);
      if (isNew) changed.push(...together.flatMap(({ sources }) => sources));
    }
  }
  return changed;
}

/** The file that others are joined to may be missing, and its directory too. */
async function prepare(files: RemoteFiles, { destination, where }: PlannedRule): Promise<void> {
  if (await isDirectory(files, Buffer.from(destination)))
    throw new Fault('invalid', `${where}: ${destination} is a directory there, and only files can be joined.`);
  await makeDirectories(files, Buffer.from(dirname(destination)));
}

function byDestination(rules: readonly PlannedRule[]): Map<string, PlannedRule[]> {
  const groups = new Map<string, PlannedRule[]>();
  for (const rule of rules) groups.set(rule.destination, [...(groups.get(rule.destination) ?? []), rule]);
  return groups;
}

/** The source itself is kept on the node, so that it travels only when it has changed. */
function stored(tree: WantedTree, directory: string): Placed {
  const [item] = tree.items;
  if (item!.kind !== 'file') throw new Fault('invalid', `${tree.path} is not a file, and only files can be joined.`);
  return { item: item!, path: Buffer.from(joinPath(directory, tree.path)) };
}

async function runScript(
  { shell }: Sending,
  script: SyncScript,
  copies: readonly Copied[],
): Promise<readonly string[]> {
  const copy = copies.find(({ source }) => source === script.path);
  // It may be for other nodes only.
  if (!copy) return [];
  return shell.must(commandLine([copy.path.toString()]), copy.path.toString());
}
