import { createHash } from 'node:crypto';
import { dirname, join as joinPath } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { commandLine } from '../../core/shell-words.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { isDirectory, join, makeDirectories, pathKey, type Placed, putLink } from '../remote/cargo.ts';
import { joinings } from './joined-files.ts';
import { type NodePlan, pathOnNode, type PlannedRule, sourceOf, type WantedTree } from './node-plan.ts';
import { sendChanged, type Sending } from './send-changed.ts';
import type { SyncScript } from './synclist.ts';

/** Where the reference system keeps what it needs on nodes to synchronise files. */
const defaultStorage = '/var/xcat/node/syncfiles';

/** The directory of the nodes for that; `named` is the site attribute `nodesyncfiledir`. */
export function syncStorage(named: string): string {
  const storage = named || defaultStorage;
  if (storage.startsWith('/')) return storage;
  throw new Fault('invalid', 'the site attribute nodesyncfiledir is not a full path.');
}

/** A file of the node by the name of its source in the list. */
interface Copied extends Placed {
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

/** What is put behind a file is put behind the file as the node had it, so nothing else may bring that file. By keys of paths. */
export function checkAppends(
  appends: readonly PlannedRule[],
  copies: ReadonlyMap<string, { readonly where: string }>,
): void {
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

/** The ending of a script that runs when the file of the same name without it has changed. */
const scriptEnding = '.post';

/** Those of the scripts that run when these sources have changed. */
export function scriptsFor(scripts: readonly SyncScript[], sources: Iterable<string>): SyncScript[] {
  const names = new Set(sources);
  return scripts.filter(({ path }) => names.has(path.slice(0, -scriptEnding.length)));
}

/** Gives a node the files of its plan and runs what has to be run; what that printed. */
export async function syncNode(sending: Sending, plan: NodePlan, storage: string): Promise<readonly string[]> {
  const copies = await copiesOf(sending.files, plan, storage);
  const due = new DueScripts(sending.files, storage);
  const named = new Set([...plan.scripts, ...plan.scriptsAlways].map(({ path }) => path));
  const pathsThere = new Map(
    copies.flatMap(({ source, path }) => (named.has(source) ? [[source, path.toString()]] : [])),
  );
  // A script may be for other nodes only.
  const scripts = plan.scripts.filter(({ path }) => pathsThere.has(path));
  await sendChanged(sending, copies, async (changed) => {
    for (const { path } of scriptsFor(
      scripts,
      changed.map(({ source }) => source),
    ))
      await due.add(path);
  });
  // Whether joining changes a file is known afterwards only.
  const perhaps: string[] = [];
  for (const { path } of scriptsFor(
    scripts,
    [...plan.appends, ...plan.merges].flatMap(({ sources }) => sources),
  ))
    if (!(await due.has(path))) perhaps.push(path);
  for (const path of perhaps) await due.add(path);
  const joined = scriptsFor(scripts, await joinAll(sending, plan, storage)).map(({ path }) => path);
  for (const path of new Set(perhaps)) if (!joined.includes(path)) await due.remove(path);
  let lines: readonly string[] = [];
  for (const script of scripts) {
    if (!(await due.has(script.path))) continue;
    lines = lines.concat(await runScript(sending, pathsThere.get(script.path)!));
    await due.remove(script.path);
  }
  for (const { path } of plan.scriptsAlways)
    if (pathsThere.has(path)) lines = lines.concat(await runScript(sending, pathsThere.get(path)!));
  return lines;
}

/** Files that are joined with others; the sources whose destination changed. */
async function joinAll(sending: Sending, plan: NodePlan, storage: string): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const { rules, copies, words, doing } of joinings(plan, storage)) {
    await sendChanged(sending, copies);
    await prepare(sending.files, rules[0]!);
    const lines = await sending.shell.must(commandLine(words), doing);
    if (lines.includes('changed')) changed.push(...rules.flatMap(({ sources }) => sources));
  }
  return changed;
}

/** The file that others are joined to may be missing, and its directory too. */
async function prepare(files: RemoteFiles, { destination, where }: PlannedRule): Promise<void> {
  if (await isDirectory(files, Buffer.from(destination)))
    throw new Fault('invalid', `${where}: ${destination} is a directory there, and only files can be joined.`);
  await makeDirectories(files, Buffer.from(dirname(destination)));
}

const runScript = ({ shell }: Sending, path: string): Promise<readonly string[]> =>
  shell.must(commandLine([path]), path);

/** Scripts that have to run, remembered on the node until they have succeeded: the next update runs what this one could not. */
class DueScripts {
  readonly #files: RemoteFiles;
  readonly #storage: string;

  constructor(files: RemoteFiles, storage: string) {
    this.#files = files;
    this.#storage = storage;
  }

  async add(script: string): Promise<void> {
    await makeDirectories(this.#files, Buffer.from(joinPath(this.#storage, 'due')));
    await putLink(this.#files, this.#mark(script), Buffer.from(script));
  }

  async has(script: string): Promise<boolean> {
    return (await this.#files.lstat(this.#mark(script))) !== undefined;
  }

  remove(script: string): Promise<void> {
    return this.#files.remove(this.#mark(script));
  }

  #mark(script: string): Buffer {
    return Buffer.from(dueMark(this.#storage, script));
  }
}

/** What is there on the node while a script has to run. A path may be longer than a name can be. */
export const dueMark = (storage: string, script: string): string =>
  joinPath(storage, 'due', createHash('sha256').update(script).digest('hex'));
