import type { Fault } from '../../core/errors.ts';
import { commandLine, quoteWord, withEnvironment } from '../../protocols/ssh/quote.ts';
import { endOf, type NodeShell } from './node-shell.ts';
import type { Postscript } from './postscripts.ts';

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
  environment: Readonly<Record<string, string>>,
): Promise<ScriptReport> {
  const run = commandLine([`./${script.name}`, ...script.args]);
  const command = `cd ${quoteWord(nodeScripts)} && export PATH="$PWD:$PATH" && ${run} < /dev/null`;
  const { exit, lines } = await shell.run(withEnvironment(environment, command));
  return { ok: exit.code === 0, lines: framed(script, lines, endOf(exit)) };
}

/** The lines that a script's output stands between. */
export const framed = ({ type, text }: Postscript, lines: readonly string[], end: string): string[] => [
  `${type} start..: ${text}`,
  ...lines,
  `${type} end....: ${text} ${end}`,
];
