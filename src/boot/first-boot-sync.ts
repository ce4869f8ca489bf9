import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Sources } from '../access/file-sources.ts';
import { Fault, unlessFault } from '../core/errors.ts';
import { commandLine } from '../core/shell-words.ts';
import { type EffectiveReader, siteValue } from '../objects/effective.ts';
import {
  type CargoItem,
  checkAppends,
  dueMark,
  joinings,
  LocalFiles,
  nodePlan,
  type NodePlan,
  pathKey,
  pathOnNode,
  type PlannedRule,
  scriptsFor,
  sourceOf,
  SyncLists,
  syncStorage,
  type WantedTree,
} from '../nodes/index.ts';

/** Nodes whose files are remembered between their script and what they fetch. */
const mostKnown = 1_000;

/** The files of synclists that a node fetches itself when it is up for the first time. */
export class FirstBootSync {
  readonly #sources: Sources;
  /** By node, where the files lie that its script names. */
  readonly #known = new Map<string, ReadonlyMap<string, string>>();

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** Lines of a shell that bring the files, each with a code that says whether it is there; the functions are in `syncing`. */
  async lines(reader: EffectiveReader, node: string): Promise<string[]> {
    const local = new LocalFiles();
    try {
      const lists = new SyncLists(reader, this.#sources, [node]);
      const found = (await lists.pathsFor(node)).map((path) => unlessFault(lists.found.all[path]!));
      const plan = await nodePlan(local, found, node);
      if (!plan) return [];
      const script = new SyncLines(
        local,
        this.#sources,
        plan,
        syncStorage(siteValue(reader.snapshot, 'nodesyncfiledir') ?? ''),
      );
      const lines = await script.all();
      this.#remember(node, script.files);
      return lines;
    } finally {
      await local.close();
    }
  }

  /** Where a file lies that the script of the node has named. */
  async file(reader: EffectiveReader, node: string, id: string): Promise<string | undefined> {
    // muster may have been restarted meanwhile.
    if (!this.#known.has(node)) await this.lines(reader, node);
    const path = this.#known.get(node)?.get(id);
    // It was judged when the script was made; since then it must not have become a link to elsewhere.
    return path !== undefined && (await realpath(path).catch(() => undefined)) === path ? path : undefined;
  }

  #remember(node: string, files: ReadonlyMap<string, string>): void {
    this.#known.delete(node);
    this.#known.set(node, files);
    if (this.#known.size > mostKnown) this.#known.delete(this.#known.keys().next().value!);
  }
}

/** Where something of a list is on the node: a path, and the name below it if only the node knows whether that is a directory. */
interface Place {
  readonly path: string;
  readonly into: string;
}

/** The lines for one node, in the order in which updatenode does the same (nodes/update/sync-node.ts). */
class SyncLines {
  /** What the node may fetch, by what it asks for. */
  readonly files = new Map<string, string>();
  readonly #local: LocalFiles;
  readonly #plan: NodePlan;
  readonly #storage: string;
  readonly #directories: OpenDirectories;
  /** By the names of the list. */
  readonly #placed = new Map<string, Place>();

  constructor(local: LocalFiles, sources: Sources, plan: NodePlan, storage: string) {
    this.#local = local;
    this.#directories = new OpenDirectories(sources);
    this.#plan = plan;
    this.#storage = storage;
  }

  async all(): Promise<string[]> {
    const { copies, looseScripts, scripts, scriptsAlways, notes } = this.#plan;
    const lines = notes.map((note) => commandLine(['echo', note]));
    for (const rule of copies) for (const tree of rule.trees) lines.push(...(await this.#tree(rule, tree)));
    this.#checkAppends();
    for (const { path, item } of looseScripts) {
      const place = { path: join(this.#storage, 'scripts', path), into: '' };
      this.#placed.set(path, place);
      lines.push(await this.#line(item, place));
    }
    for (const joining of joinings(this.#plan, this.#storage)) lines.push(await this.#join(joining));
    const run = (name: string, path: string, ...words: string[]): void => {
      const place = this.#placed.get(path);
      // A script may be for other nodes only.
      if (place) lines.push(commandLine([name, place.path, place.into, ...words]));
    };
    for (const { path } of scripts) run('sync_execute', path, dueMark(this.#storage, path));
    for (const { path } of scriptsAlways) run('sync_always', path);
    return lines;
  }

  async #tree(rule: PlannedRule, tree: WantedTree): Promise<string[]> {
    const { items } = tree;
    const [first] = items as readonly [CargoItem, ...CargoItem[]];
    const top = rule.intoDirectory
      ? `${rule.destination.replace(/\/+$/, '')}/${first.name.toString()}`
      : rule.destination;
    const into = first.kind !== 'directory' && !rule.intoDirectory ? first.name.toString() : '';
    const lines: string[] = [];
    for (const item of items) {
      const place = { path: textOf(pathOnNode(item, Buffer.from(top))), into };
      const source = sourceOf(tree, item);
      this.#placed.set(source, place);
      lines.push(await this.#line(item, place, this.#marks([source])));
    }
    return lines;
  }

  async #line(item: CargoItem, { path, into }: Place, marks: readonly string[] = []): Promise<string> {
    const [mode, owner] = [item.mode.toString(8), `${item.uid}:${item.gid}`];
    if (item.kind === 'directory') return commandLine(['sync_directory', mode, owner, path]);
    if (item.kind === 'link') return commandLine(['sync_link', textOf(item.destination!), path]);
    const hash = await this.#local.hash(item.from);
    // The system runs, so all users of the node can read its token and fetch what it fetches.
    const isOpen = (item.mode & 0o004) !== 0 && (await this.#directories.haveOpen(textOf(item.from)));
    if (!isOpen) return commandLine(['sync_private', hash, path, into]);
    const id = createHash('sha256').update(item.from).digest('hex').slice(0, 32);
    this.files.set(id, textOf(item.from));
    return commandLine(['sync_file', mode, owner, hash, id, path, into, ...marks]);
  }

  async #join({ destination, rules, copies, words }: ReturnType<typeof joinings>[number]): Promise<string> {
    const fetched = [];
    for (const { item, path } of copies) fetched.push(await this.#line(item, { path: textOf(path), into: '' }));
    const marks = this.#marks(rules.flatMap(({ sources }) => sources));
    const directory = commandLine(['mkdir', '-p', dirname(destination)]);
    return [...fetched, directory, commandLine(['sync_join', ...marks, '--', ...words])].join(' && ');
  }

  /** What is left on the node for each script that has to run when these have changed, and the script. */
  #marks(sources: readonly string[]): string[] {
    return scriptsFor(this.#plan.scripts, sources).flatMap(({ path }) => [dueMark(this.#storage, path), path]);
  }

  #checkAppends(): void {
    const { copies, appends } = this.#plan;
    const keys = copies.map((rule) => [pathKey(Buffer.from(rule.destination)), rule] as const);
    checkAppends(appends, new Map(keys));
  }
}

/**
 * Says whether everybody may go through all directories above a file, also above what a list names. A directory of `remote.sources` may lie
 * in one that is closed, as muster's own does.
 */
class OpenDirectories {
  readonly #sources: Sources;
  readonly #known = new Map<string, Promise<boolean>>();

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  async haveOpen(file: string): Promise<boolean> {
    return this.#isOpen(dirname(await realpath(file)));
  }

  #isOpen(directory: string): Promise<boolean> {
    let known = this.#known.get(directory);
    if (!known) this.#known.set(directory, (known = this.#look(directory)));
    return known;
  }

  async #look(directory: string): Promise<boolean> {
    if (this.#sources.names(directory)) return true;
    const { mode } = await stat(directory);
    return (mode & 0o001) !== 0 && (directory === '/' || this.#isOpen(dirname(directory)));
  }
}

function textOf(bytes: Buffer): string {
  const text = bytes.toString();
  if (!Buffer.from(text).equals(bytes)) throw new Fault('invalid', `the name ${JSON.stringify(text)} is not UTF-8.`);
  return text;
}

/** What the lines call. A file is there whole or as it was before; what is the same is not fetched. */
export const syncing = `sync_place() {
  path=$1
  if [ -n "$2" ] && [ -d "$path" ]; then path=\${path%/}/$2; fi
}
sync_directory() { [ -d "$3" ] || { mkdir -p "$3" && chown "$2" "$3" && chmod "$1" "$3"; }; }
sync_link() {
  [ "$(readlink "$2")" != "$1" ] || return 0
  if [ -d "$2" ] && [ ! -L "$2" ]; then echo "$2 is a directory and must be a link."; return 1; fi
  new=$(dirname "$2")/.muster-sync.$$
  mkdir -p "$(dirname "$2")" && ln -sfn -- "$1" "$new" || return 1
  # mv would go through a link to a directory.
  if [ -d "$2" ]; then rm -f "$2"; fi
  mv -f "$new" "$2"
}
sync_private() {
  sync_place "$2" "$3"
  if [ ! -f "$path" ] || [ "$(sha256sum < "$path")" != "$1  -" ]; then echo "$path is not for everybody to read, so it is not fetched at the first boot: run updatenode -F, or put it into an overlay."; return 1; fi
}
sync_mark() {
  while [ "$#" -gt 1 ]; do
    mkdir -p "$(dirname "$1")" && ln -sfn -- "$2" "$1" || return 1
    shift 2
  done
}
sync_file() {
  mode=$1 owner=$2 sum=$3 id=$4
  sync_place "$5" "$6"
  shift 6
  if [ -d "$path" ]; then echo "$path is a directory and must be a file."; return 1; fi
  if [ ! -L "$path" ] && [ -f "$path" ] && [ "$(sha256sum < "$path")" = "$sum  -" ]; then
    chown "$owner" "$path" && chmod "$mode" "$path"
    return
  fi
  new=$(dirname "$path")/.muster-sync.$$ tries=0
  mkdir -p "$(dirname "$path")" && rm -f "$new" || return 1
  until (umask 077 && "$MUSTER_BUSYBOX" timeout 3600 "$MUSTER_BUSYBOX" wget -q -O "$new" "\${MUSTER_FILES%/files}/sync/$id") && [ "$(sha256sum < "$new")" = "$sum  -" ]; do
    tries=$((tries + 1))
    if [ "$tries" -ge 20 ]; then rm -f "$new"; echo "$path cannot be fetched."; return 1; fi
    sleep 3
  done
  sync_mark "$@" && chown "$owner" "$new" && chmod "$mode" "$new" && sync "$new" && mv -f "$new" "$path" || { rm -f "$new"; echo "$path cannot be written."; return 1; }
}
sync_join() {
  marked=
  while [ "$1" != -- ]; do
    if [ ! -L "$1" ]; then sync_mark "$1" "$2" && marked="$marked $1" || return 1; fi
    shift 2
  done
  shift
  said=$("$@") || { echo "$said"; return 1; }
  case $said in *changed*) ;; *) [ -z "$marked" ] || rm -f $marked ;; esac
}
sync_execute() {
  [ -L "$3" ] || return 0
  sync_always "$1" "$2" && rm -f "$3"
}
sync_always() {
  sync_place "$1" "$2"
  "$path" < /dev/null
}`;
