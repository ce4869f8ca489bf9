import { path } from '../client.ts';
import { type Call, type CliCommand, type Invocation, say, xcatCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { nodeErrorLine, nodeLine } from '../lines.ts';
import type { OptionTable, ParsedOptions } from '../options.ts';
import { namesIn, type NodeReport, type NodeRequest, type Tally, workOnNodes } from './work.ts';

/** A call of a command of the form `COMMAND NODERANGE [words]`. */
export interface NodeCall extends Call {
  readonly invocation: Invocation;
  readonly range: string;
  /** The operands behind the range. */
  readonly words: readonly string[];
}

interface NodeCommand {
  readonly usage: string;
  readonly options?: OptionTable;
  /** How many operands may follow the range; one more is refused. */
  readonly words?: number;
  /** The exit status of a call without any word, which prints the help. */
  readonly bare?: 0 | 1;
  readonly refuse?: (invocation: Invocation, options: ParsedOptions, usage: string) => Promise<number> | number;
  run(call: NodeCall): Promise<number>;
}

export function nodeCommand({ words: most = 0, bare = 0, run, ...declared }: NodeCommand): CliCommand {
  const command = xcatCommand({
    ...declared,
    common: onNodes,
    operands: most + 1,
    run(invocation, call) {
      const [range, ...words] = call.operands;
      if (range === undefined) return say(invocation, command.usage, bare);
      return run({ ...call, invocation, range, words });
    },
  });
  return command;
}

/** The usual way: 1 if any node failed. */
export async function work(call: NodeCall, request: NodeRequest, report: NodeReport): Promise<number> {
  const tally = await workOnNodes(call.invocation, request, { range: call.range, ...report }, call.common);
  return codeOf(tally);
}

export const codeOf = ({ failed }: Tally): number => (failed > 0 ? 1 : 0);

/** Labels with their values; what has no label is a line of its own. */
export function labelled(value: unknown): string[] {
  return Object.entries((value ?? {}) as Record<string, string | readonly string[]>).flatMap(([label, texts]) =>
    [texts].flat().map((text) => (label === 'Message' ? text : `${label}: ${text}`)),
  );
}

/** What is wrong with the words themselves is said for every node of the range, before any is asked. */
export async function refuseForEach(
  { invocation: { client, stdout, stderr, env }, range }: NodeCall,
  reason: (node: string) => { readonly error: string } | { readonly line: string },
): Promise<number> {
  const names = await namesIn(client, range);
  const { server } = client;
  for (const node of names) {
    const what = reason(node);
    if ('error' in what) await stderr.line(nodeErrorLine(node, what.error, server));
    else await stdout.line(nodeLine(node, what.line, { env, server }));
  }
  return names.length > 0 ? 1 : 0;
}

const noDriver = 'Unable to identify plugin for this command, check relevant tables: nodehm.mgt';

/** The same where the sentence names the kind of hardware; nodes without one have no command at all. */
export async function refuseByKind(call: NodeCall, sentence: (mgt: string) => string): Promise<number> {
  const { client } = call.invocation;
  const names = await namesIn(client, call.range);
  if (names.length === 0) return 0;
  const kinds = (await client.get(path('nodes', call.range, 'attrs', 'mgt'))) as Record<string, { mgt?: string }>;
  return refuseForEach(call, (node) => {
    const mgt = kinds[node]?.mgt;
    return mgt ? { line: sentence(mgt) } : { error: noDriver };
  });
}

/** A command of xCAT's that no kind of hardware here has: it says so for each node, as it does there for hardware without it. */
export const notOffered = (usage: string, instead: string): CliCommand =>
  nodeCommand({
    usage: `${usage}\n\nNo driver of muster can do this. ${instead}`,
    words: Number.POSITIVE_INFINITY,
    run: (call) => refuseForEach(call, () => ({ error: noDriver })),
  });
