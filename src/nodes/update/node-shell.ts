import { Fault } from '../../core/errors.ts';
import { CollectedOutput } from '../../protocols/ssh/collected.ts';
import { commandLine, quoteWord, withEnvironment } from '../../core/shell-words.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import type { Exit, Output } from '../../protocols/ssh/target.ts';
import type { RemoteNode, RunOptions } from '../remote/remote-nodes.ts';
import type { UpdateTarget } from './plan-update.ts';
import type { Postscript } from './postscripts.ts';

interface Ran {
  readonly exit: Exit;
  /** What it printed, both streams in the order of their coming. */
  readonly lines: readonly string[];
}

interface ShellOptions {
  /** Bytes of output that are kept of all its commands together. */
  readonly limit: number;
  /** Milliseconds; default: the usual timeout of commands. */
  readonly timeout?: number | undefined;
}

/** Bytes that are kept of every command, to say why it failed. */
const leastOutput = 4_096;

/** One node, for commands whose output is reported as lines. */
export class NodeShell {
  readonly #node: RemoteNode;
  readonly #options: ShellOptions;
  #left: number;

  constructor(node: RemoteNode, options: ShellOptions) {
    this.#node = node;
    this.#options = options;
    this.#left = options.limit;
  }

  async run(command: string, timeout?: number, stdin?: string): Promise<Ran> {
    const output = new CollectedOutput(Math.max(leastOutput, this.#left));
    // The shell joins the streams, so that errors stand where they happened.
    const exit = await this.#exec(`{ ${command}\n} 2>&1`, output, { commandTimeout: timeout, stdin });
    const text = output.text('stdout');
    this.#left -= Buffer.byteLength(text);
    const lines = linesOf(text);
    return { exit, lines: output.note === undefined ? lines : [...lines, output.note] };
  }

  /** What a command printed that nobody is shown: it counts not as output, but may have `limit` bytes of its own. */
  async ask(command: string, limit: number, stdin?: Uint8Array): Promise<readonly string[]> {
    const output = new CollectedOutput(limit);
    await this.#exec(`{ ${command}\n} 2> /dev/null`, output, { stdin });
    return linesOf(output.text('stdout'));
  }

  /** As run, for what must succeed; `what` names it in the error. */
  async must(command: string, what: string, timeout?: number): Promise<readonly string[]> {
    const { exit, lines } = await this.run(command, timeout);
    if (exit.code !== 0) throw new Fault('invalid', `${what} ${endOf(exit)}${lastWords(lines)}`);
    return lines;
  }

  /** As that of the node. */
  withFiles<T>(work: (files: RemoteFiles, signal: AbortSignal) => Promise<T>, more: number): Promise<T> {
    return this.#node.withFiles(work, more);
  }

  /** As that of the node; what it prints is the caller's. */
  exec(command: string, output: Output, options: RunOptions): Promise<Exit> {
    return this.#node.exec(command, output, options);
  }

  #exec(command: string, output: CollectedOutput, options: RunOptions): Promise<Exit> {
    const { commandTimeout = this.#options.timeout } = options;
    return this.#node.exec(command, output, { ...options, commandTimeout });
  }
}

const linesOf = (text: string): string[] => text.split('\n').flatMap((line) => line.trimEnd() || []);

export const endOf = ({ code, signal }: Exit): string =>
  code === undefined ? `was ended by ${signal ?? 'a signal'}` : `exited with code ${code}`;

/** The end of what it printed, which mostly says why it failed. */
export const lastWords = (lines: readonly string[]): string =>
  lines.length === 0 ? '.' : `: ${lines.slice(-3).join(' / ').slice(-500)}`;

/** Where scripts are on the nodes; scripts written for the reference system count on it. */
export const nodeScripts = '/xcatpost';

/** One script as it was run: the lines that clients read, and whether all went well. */
export interface ScriptReport {
  readonly lines: readonly string[];
  readonly ok: boolean;
  /** Why nothing more is done on the node. */
  readonly fault?: Fault;
}

export async function runPostscript(
  shell: NodeShell,
  script: Postscript,
  { environment, secrets }: Pick<UpdateTarget, 'environment' | 'secrets'>,
): Promise<ScriptReport> {
  const run = commandLine([`./${script.name}`, ...script.args]);
  // Every user of the node can read command lines, so secrets come by standard input.
  const stdin = Object.keys(secrets).length === 0 ? undefined : withEnvironment(secrets, ':');
  const reading = stdin === undefined ? '' : 'eval "$(cat)" && ';
  const command = `${reading}cd ${quoteWord(nodeScripts)} && export PATH="$PWD:$PATH" && ${run} < /dev/null`;
  const { exit, lines } = await shell.run(withEnvironment(environment, command), undefined, stdin);
  return { ok: exit.code === 0, lines: framed(script, lines, endOf(exit)) };
}

/** The lines that a script's output stands between. */
export const framed = ({ type, text }: Postscript, lines: readonly string[], end: string): string[] => [
  `${type} start..: ${text}`,
  ...lines,
  `${type} end....: ${text} ${end}`,
];
