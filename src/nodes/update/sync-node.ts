import { createHash } from 'node:crypto';
import { dirname, join as joinPath } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { commandLine } from '../../core/shell-words.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { isDirectory, join, makeDirectories, pathKey, type Placed, putLink } from '../remote/cargo.ts';
import { type NodePlan, pathOnNode, type PlannedRule, sourceOf, type WantedTree } from './node-plan.ts';
import type { NodeShell } from './node-shell.ts';
import { sendChanged, type Sending } from './send-changed.ts';
import type { SyncScript } from './synclist.ts';

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

/** Puts a new content in the place of a file and keeps its owner and mode; what is a link stays one. */
const replace = `
if [ -e "$dst" ] && cmp -s "$new" "$dst"; then exit 0; fi
if [ -L "$dst" ]; then cat "$new" > "$dst"; else mv -f "$new" "$dst"; fi
echo changed`;

/** With `-a` also the label that SELinux goes by. */
const begin = `
set -e
umask 077
new="$dst.$$.muster"
trap 'rm -f "$new"' EXIT
if [ -e "$dst" ]; then cp -aL "$dst" "$new"; else cp -p "$1" "$new"; fi`;

/** The file as it was before the first time is kept, whole or not at all, and the rest is put behind it each time. */
const appending = `dst=$1 org=$2 dir=$3 last=
shift 3
${begin}
if [ ! -e "$org" ]; then
  mkdir -p "$dir"
  if [ -e "$dst" ]; then cp -p "$dst" "$org.new"; else : > "$org.new"; fi
  mv -f "$org.new" "$org"
fi
{ cat "$org"
for f; do
  [ -z "$last" ] && last=$org
  [ -z "$(tail -c 1 "$last")" ] || echo
  cat "$f"
  last=$f
done; } > "$new"
${replace}`;

/** Entries of the same name are replaced where they stand, new ones go to the end. */
const merging = `dst=$1
shift
${begin}
[ -e "$dst" ] && old=$dst || old=/dev/null
awk -F: '
  pass == 1 { if ($1 != "" && !($1 in wanted)) names[++count] = $1; if ($1 != "") wanted[$1] = $0; next }
  $1 in wanted { if (!printed[$1]++) print wanted[$1]; next }
  { print }
  END { for (i = 1; i <= count; i++) if (!printed[names[i]]++) print wanted[names[i]] }
' pass=1 "$@" pass=2 "$old" > "$new"
${replace}`;

/** Puts the content of files on the node behind that of another; whether that changed it. */
async function appendFiles(
  shell: NodeShell,
  destination: string,
  original: string,
  sources: readonly string[],
): Promise<boolean> {
  const directory = original.slice(0, original.lastIndexOf('/'));
  const words = ['sh', '-c', appending, 'sh', destination, original, directory, ...sources];
  const lines = await shell.must(commandLine(words), `appending to ${destination}`);
  return lines.includes('changed');
}

/** Merges entries such as those of /etc/passwd into another file by their names; whether that changed it. */
async function mergeFiles(shell: NodeShell, destination: string, sources: readonly string[]): Promise<boolean> {
  const lines = await shell.must(
    commandLine(['sh', '-c', merging, 'sh', destination, ...sources]),
    `merging into ${destination}`,
  );
  return lines.includes('changed');
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
