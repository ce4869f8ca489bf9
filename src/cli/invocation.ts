import type { Client } from './client.ts';
import type { Input } from './input.ts';
import type { Output } from './output.ts';

/** What a command can know of the terminal it was called from. */
export interface Terminal {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  /** Of standard output, or what COLUMNS says; 80 where nobody knows. */
  readonly columns: number;
  /** Standard output is a terminal, and NO_COLOR is not set. */
  readonly colour: boolean;
}

/** One call of a command: all it may read, and where it may write. */
export interface Invocation {
  /** The command's name. */
  readonly name: string;
  /** What follows the name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly terminal: Terminal;
  /** Connects when it is first used. */
  readonly client: Client;
  /** Aborted by Ctrl-C. Whoever listens decides what is said; a second Ctrl-C ends the process. */
  readonly signal: AbortSignal;
}

/** A command of the command line; one file each in `commands/`, which exports it as `command`. */
export interface CliCommand {
  /** The help text, without a newline at its end. */
  readonly usage: string;
  /** Answers the exit status. What it throws is told by `failures.ts`. */
  run(invocation: Invocation): Promise<number>;
}

/** What is known of a command before its file is loaded. */
export interface CommandEntry {
  readonly summary: string;
  /** Ours: errors, exit codes and prefixes are those of muster's own commands, not those of the reference system. */
  readonly own?: true;
  load(): Promise<{ readonly command: CliCommand }>;
}
