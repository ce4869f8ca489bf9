import { createHash } from 'node:crypto';
import { dirname, join as joinPath } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { commandLine } from '../../core/shell-words.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { pathKey, type Placed } from '../remote/cargo.ts';
import { isDirectory, makeDirectories, putLink } from '../remote/remote-paths.ts';
import { copiesOf } from './copies.ts';
import { appendFiles, mergeFiles } from './join-files.ts';
import type { NodePlan, PlannedRule } from './node-plan.ts';
import { sendChanged, type Sending } from './send-changed.ts';
import type { SyncScript } from './synclist.ts';
import type { WantedTree } from './wanted-files.ts';

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
    lines = lines.concat(await runScript(sending, pathsThere.get(script.path)!));
    await due.remove(script.path);
  }
  for (const { path } of plan.scriptsAlways)
    if (pathsThere.has(path)) lines = lines.concat(await runScript(sending, pathsThere.get(path)!));
  return lines;
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
  const path = Buffer.from(joinPath(directory, tree.path));
  return { item: item!, path, key: pathKey(path) };
}

const runScript = ({ shell }: Sending, path: string): Promise<readonly string[]> =>
  shell.must(commandLine([path]), path);

/** Scripts that have to run, remembered on the node until they have succeeded: the next update runs what this one could not. */
class DueScripts {
  readonly #files: RemoteFiles;
  readonly #directory: string;

  constructor(files: RemoteFiles, storage: string) {
    this.#files = files;
    this.#directory = joinPath(storage, 'due');
  }

  async add(script: string): Promise<void> {
    await makeDirectories(this.#files, Buffer.from(this.#directory));
    await putLink(this.#files, this.#mark(script), Buffer.from(script));
  }

  async has(script: string): Promise<boolean> {
    return (await this.#files.lstat(this.#mark(script))) !== undefined;
  }

  remove(script: string): Promise<void> {
    return this.#files.remove(this.#mark(script));
  }

  /** A path may be longer than a name can be. */
  #mark(script: string): Buffer {
    return Buffer.from(joinPath(this.#directory, createHash('sha256').update(script).digest('hex')));
  }
}
