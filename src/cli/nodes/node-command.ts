import { path } from '../client.ts';
import { noPlugin } from '../../core/plugin-tables.ts';
import { type Call, type CliCommand, type Invocation, say, xcatCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { nodeErrorLine, nodeLine, noteLine } from '../lines.ts';
import { type OptionTable, verbose } from '../options.ts';
import { ResultWriter } from './results.ts';
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
  run(call: NodeCall): Promise<number>;
}

export function nodeCommand({ words: most = 0, bare = 0, run, ...declared }: NodeCommand): CliCommand {
  const command = xcatCommand({
    ...declared,
    options: { ...verbose, ...declared.options },
    common: onNodes,
    operands: most + 1,
    run(invocation, call) {
      const [range, ...words] = call.operands;
      if (range === undefined) return say(invocation, command.usage, bare);
      if (words.includes(''))
        throw new UsageError(
          `An empty word ("") behind ${range} means nothing to ${invocation.name}: leave it out, or give the word that is meant.`,
        );
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
  { invocation, range, common }: NodeCall,
  reason: (node: string) => { readonly error: string } | { readonly line: string },
): Promise<number> {
  const { client, env } = invocation;
  const names = await namesIn(client, range);
  const { server } = client;
  const writer = new ResultWriter(invocation, common);
  for (const node of names) {
    const what = reason(node);
    if ('error' in what)
      await writer.write(
        { node, error: what.error },
        { stdout: [], stderr: [nodeErrorLine(node, what.error, server)] },
      );
    else {
      const error = what.line.replace(/^Error: /, '');
      await writer.write({ node, error }, { stdout: [nodeLine(node, what.line, { env, server })], stderr: [] });
    }
  }
  await writer.end();
  return names.length > 0 ? 1 : 0;
}

/** The same where the sentence names the kind of hardware; nodes without one have no command at all. */
export async function refuseByKind(call: NodeCall, sentence: (mgt: string) => string): Promise<number> {
  const { client } = call.invocation;
  const names = await namesIn(client, call.range);
  if (names.length === 0) return 0;
  const kinds = (await client.get(path('nodes', call.range, 'attrs', 'mgt'))) as Record<string, { mgt?: string }>;
  return refuseForEach(call, (node) => {
    const mgt = kinds[node]?.mgt;
    return mgt ? { line: sentence(mgt) } : { error: noPlugin(call.invocation.name) };
  });
}

/** A command of xCAT's that no kind of hardware here has: it says so for each node, as it does there for hardware without it. */
export const notOffered = (usage: string, instead: string): CliCommand =>
  nodeCommand({
    usage: `${usage}\n\nNo driver of muster can do this. ${instead}`,
    words: Number.POSITIVE_INFINITY,
    async run(call) {
      const code = await refuseForEach(call, () => ({ error: noPlugin(call.invocation.name) }));
      call.invocation.stderr.line(noteLine(`No driver of muster can do this. ${instead}`));
      return code;
    },
  });
