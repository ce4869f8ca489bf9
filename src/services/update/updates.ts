import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { type EffectiveReader, effectiveReader, siteValue } from '../../objects/effective.ts';
import type { Remote } from '../remote/remote.ts';
import type { RemoteNodes } from '../remote/remote-nodes.ts';
import { SourcePool } from '../remote/source-pool.ts';
import { filesSynced, noSyncFiles, scriptsDone, softwareBegins, softwareDone } from './messages.ts';
import { NodeShell } from './node-shell.ts';
import { missingScript, type Postscript, scriptsOf } from './postscripts.ts';
import { nodeScripts, runPostscript, type ScriptReport } from './run-scripts.ts';
import { ScriptDirectory } from './script-directory.ts';
import { scriptEnvironment } from './script-environment.ts';
import { sendChanged, type Sending } from './send-changed.ts';
import { Software, softwareNames } from './software.ts';
import { syncNode } from './sync-node.ts';
import { SyncPlans } from './sync-plan.ts';
import { telling } from './telling.ts';
import { FileHashes, placeOf } from './wanted-files.ts';

/** What is brought up to date. */
export interface UpdateSteps {
  readonly files: boolean;
  readonly software: boolean;
  /** These scripts; `all`: those of each node. */
  readonly scripts: readonly Postscript[] | 'all' | undefined;
}

export interface UpdatesOptions {
  readonly remote: Remote;
  readonly snapshot: Snapshot;
  /** Whom we are on the nodes. */
  readonly user: string;
  readonly nodes: readonly string[];
  readonly steps: UpdateSteps;
  readonly signal: AbortSignal;
}

/** Scripts that muster does itself, unless there is a script of that name. */
const syncScript = 'syncfiles';
const ownScripts: readonly string[] = [syncScript, ...softwareNames];
/** Where the reference system keeps what it needs on nodes to synchronise files. */
const defaultStorage = '/var/xcat/node/syncfiles';
/** Milliseconds that scripts may run, and that sending files may take longer than a command. */
const scriptDeadline = 3_600_000;

/** One update of many nodes. What is the same for all is read once. */
export class Updates {
  readonly #options: UpdatesOptions;
  readonly #reader: EffectiveReader;
  readonly #targets: RemoteNodes;
  readonly #plans: SyncPlans;
  readonly #software: Software;
  readonly #directory: ScriptDirectory;
  readonly #pool = new SourcePool();
  readonly #hashes = new FileHashes();
  /** Of scripts that were named and do not exist; then nothing is run. */
  readonly #missing: readonly string[];

  constructor(options: UpdatesOptions) {
    const { remote, snapshot, user } = options;
    this.#options = options;
    this.#reader = effectiveReader(snapshot);
    this.#targets = remote.as(snapshot, user);
    this.#plans = new SyncPlans(snapshot, remote.sources);
    this.#software = new Software(snapshot, remote.sources);
    this.#directory = new ScriptDirectory(remote.postscripts);
    const named = options.steps.scripts === 'all' ? [] : (options.steps.scripts ?? []);
    this.#missing = named.filter((script) => !this.#isKnown(script)).map(({ text }) => missingScript(text));
  }

  /** Whether anything is done on a node: nothing is if a named script does not exist, or if only files are wanted and it gets none. */
  async concerns(node: string): Promise<boolean> {
    const { software, scripts } = this.#options.steps;
    if (this.#missing.length > 0) return false;
    if (software || scripts !== undefined) return true;
    // A list that cannot be read is one all the same.
    const plan = await this.#plans.of(node).catch(() => 'unreadable');
    return plan !== undefined;
  }

  /** Updates one node: its lines, whether all went well, and what ended it, if something did. */
  async update(node: string): Promise<ScriptReport> {
    const { remote, nodes, signal } = this.#options;
    const shell = new NodeShell(this.#targets, node, {
      signal,
      // Kept line by line, which needs several times the room of plain text.
      limit: Math.floor(remote.outputLimit(nodes.length) / 4),
      deadline: scriptDeadline,
    });
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

  close(): Promise<void> {
    return this.#pool.close();
  }

  async *#steps(shell: NodeShell): AsyncIterable<ScriptReport> {
    const { files, software, scripts } = this.#options.steps;
    if (this.#missing.length > 0) {
      // A node that cannot be reached is an error whatever was asked for.
      await shell.must('true', 'true');
      yield saying(this.#missing);
      return;
    }
    if (files) yield this.#syncFiles(shell);
    if (software) {
      yield saying([softwareBegins]);
      for (const name of softwareNames) yield this.#software.maintain(shell, name);
      if (scripts === undefined) yield saying([softwareDone]);
    }
    if (scripts === undefined) return;
    await this.#sendScripts(shell);
    const environment = scriptEnvironment(this.#reader, shell.node);
    for (const script of this.#scriptsFor(shell.node)) yield this.#runScript(shell, script, environment);
    yield saying([scriptsDone]);
  }

  async #syncFiles(shell: NodeShell): Promise<ScriptReport> {
    return telling('File synchronization failed', async () => {
      const plan = await this.#plans.of(shell.node);
      if (plan === undefined) return saying([noSyncFiles]);
      const storage = siteValue(this.#options.snapshot, 'nodesyncfiledir') || defaultStorage;
      if (!storage.startsWith('/'))
        throw new Fault('invalid', 'the site attribute nodesyncfiledir is not a full path.');
      const lines = await this.#withFiles(shell, (sending) => syncNode(sending, plan, storage));
      return saying([filesSynced, ...plan.notes, ...lines]);
    });
  }

  async #runScript(
    shell: NodeShell,
    script: Postscript,
    environment: Readonly<Record<string, string>>,
  ): Promise<ScriptReport> {
    const { name, text } = script;
    if (this.#directory.has(name)) return runPostscript(shell, script, environment);
    if (name === syncScript) return this.#syncFiles(shell);
    const software = softwareNames.find((each) => each === name);
    if (software) return this.#software.maintain(shell, software);
    return { ok: false, lines: [missingScript(text)] };
  }

  /** What the other steps of this update do already is left out. */
  #scriptsFor(node: string): readonly Postscript[] {
    const { scripts, files, software } = this.#options.steps;
    if (scripts !== 'all') return scripts ?? [];
    return scriptsOf(this.#reader, node).filter(({ name }) => {
      if (this.#directory.has(name)) return true;
      return name === syncScript ? !files : !(software && ownScripts.includes(name));
    });
  }

  #isKnown({ name }: Postscript): boolean {
    return ownScripts.includes(name) || this.#directory.has(name);
  }

  /** All scripts, since one may use others. */
  async #sendScripts(shell: NodeShell): Promise<void> {
    await telling('The postscripts could not be sent', async () => {
      const items = (await this.#directory.tree())?.items ?? [];
      const placed = items.map((item) => ({ item, path: placeOf(item, Buffer.from(nodeScripts)) }));
      await this.#withFiles(shell, (sending) => sendChanged(sending, placed));
    });
  }

  #withFiles<T>(shell: NodeShell, work: (sending: Sending) => Promise<T>): Promise<T> {
    const { signal, user } = this.#options;
    const sending = { shell, pool: this.#pool, hashes: this.#hashes, keepOwner: user === 'root' };
    return this.#targets.withFiles(
      shell.node,
      signal,
      (files, over) => work({ ...sending, files, signal: over }),
      scriptDeadline,
    );
  }
}

const saying = (lines: readonly string[]): ScriptReport => ({ lines, ok: true });
