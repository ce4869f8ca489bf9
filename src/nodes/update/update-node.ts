import { Fault, unlessFault } from '../../core/errors.ts';
import { type CargoItem, pathKey, type Placed } from '../remote/cargo.ts';
import type { LocalFiles } from '../remote/local-files.ts';
import type { RemoteNode } from '../remote/remote-nodes.ts';
import { filesSynced, noSyncFiles, scriptsDone, softwareBegins, softwareDone, naming } from './findings.ts';
import { nodePlan, type NodePlan, pathOnNode, wantedTree } from './node-plan.ts';
import { nodeScripts, NodeShell, runPostscript, type ScriptReport } from './node-shell.ts';
import type { PlannedScript, UpdateJob, UpdateTarget } from './plan-update.ts';
import { missingScript } from './postscripts.ts';
import { sendChanged, type Sending } from './send-changed.ts';
import { maintain, type SoftwareName, softwareNames } from './software.ts';
import { syncNode, syncStorage } from './sync-node.ts';

/** Milliseconds that scripts may run, and that sending files may take longer than a command. */
const scriptTimeout = 3_600_000;

export class NodeUpdate {
  readonly #job: UpdateJob;
  readonly #target: UpdateTarget;
  readonly #node: string;
  readonly #local: LocalFiles;

  constructor(job: UpdateJob, target: UpdateTarget, node: string, local: LocalFiles) {
    this.#job = job;
    this.#target = target;
    this.#node = node;
    this.#local = local;
  }

  /** Whether anything is done: nothing is if only files are wanted and the node gets none. */
  async doesSomething(): Promise<boolean> {
    const { software, scripts } = this.#job;
    if (software || scripts) return true;
    // A list that cannot be read is one all the same.
    const plan = await this.#plan().catch(() => 'unreadable');
    return plan !== undefined;
  }

  /** The lines, whether all went well, and what ended it, if something did. */
  async carryOut(remote: RemoteNode): Promise<ScriptReport> {
    const shell = new NodeShell(remote, { limit: this.#job.limit, timeout: scriptTimeout });
    let lines: readonly string[] = [];
    let ok = true;
    try {
      for await (const report of this.#steps(shell)) {
        lines = lines.concat(report.lines);
        ok &&= report.ok;
        if (report.fault) throw report.fault;
      }
      return { lines, ok };
    } catch (error) {
      if (error instanceof Fault) return { lines, ok: false, fault: error };
      throw error;
    }
  }

  async *#steps(shell: NodeShell): AsyncIterable<ScriptReport> {
    const { files, software, scripts } = this.#job;
    if (files) yield this.#syncFiles(shell);
    if (software) {
      yield saying([softwareBegins]);
      for (const name of softwareNames) yield this.#maintain(shell, name);
      if (!scripts) yield saying([softwareDone]);
    }
    if (!scripts) return;
    await this.#sendScripts(shell);
    for (const script of unlessFault(this.#target.scripts)) yield this.#runScript(shell, script);
    yield saying([scriptsDone]);
  }

  async #plan(): Promise<NodePlan | undefined> {
    const lists = this.#target.lists.map((path) => unlessFault(this.#job.lists[path]!));
    return nodePlan(this.#local, lists, this.#node);
  }

  async #syncFiles(shell: NodeShell): Promise<ScriptReport> {
    return naming('File synchronization failed', async () => {
      const plan = await this.#plan();
      if (plan === undefined) return saying([noSyncFiles]);
      const storage = syncStorage(this.#job.storage);
      const lines = await this.#withFiles(shell, (sending) => syncNode(sending, plan, storage));
      return saying([filesSynced, ...plan.notes, ...lines]);
    });
  }

  #maintain(shell: NodeShell, name: SoftwareName): Promise<ScriptReport> {
    return maintain(shell, name, this.#job.packages[this.#target.packages![name]]!);
  }

  async #runScript(shell: NodeShell, script: PlannedScript): Promise<ScriptReport> {
    switch (script.is) {
      case 'script':
        return runPostscript(shell, script, this.#target);
      case 'syncfiles':
        return this.#syncFiles(shell);
      case 'missing':
        return { ok: false, lines: [missingScript(script.text)] };
      case 'ospkgs':
      case 'otherpkgs':
        return this.#maintain(shell, script.is);
    }
  }

  /** All scripts, since one may use others. */
  async #sendScripts(shell: NodeShell): Promise<void> {
    await naming('The postscripts could not be sent', async () => {
      const placed = await scriptsIn(this.#local, this.#job.directory);
      await this.#withFiles(shell, (sending) => sendChanged(sending, placed));
    });
  }

  #withFiles<T>(shell: NodeShell, work: (sending: Sending) => Promise<T>): Promise<T> {
    const sending = { shell, local: this.#local, keepOwner: this.#job.keepOwner };
    return shell.withFiles((files, signal) => work({ ...sending, files, signal }), scriptTimeout);
  }
}

const runnable = (item: CargoItem): CargoItem => (item.kind === 'file' ? { ...item, mode: item.mode | 0o500 } : item);

/** The nodes at work share what is known of the scripts. */
const scriptsByItems = new WeakMap<readonly CargoItem[], readonly Placed[]>();

async function scriptsIn(local: LocalFiles, directory: string | undefined): Promise<readonly Placed[]> {
  if (directory === undefined) return [];
  const { items } = await wantedTree(local, { path: directory, real: directory });
  let scripts = scriptsByItems.get(items);
  if (!scripts) {
    scripts = items.map((item) => {
      const path = pathOnNode(item, Buffer.from(nodeScripts));
      return { item: runnable(item), path, key: pathKey(path) };
    });
    scriptsByItems.set(items, scripts);
  }
  return scripts;
}

const saying = (lines: readonly string[]): ScriptReport => ({ lines, ok: true });
