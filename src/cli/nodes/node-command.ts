import { path } from '../client.ts';
import { told } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { nodeErrorLine, nodeLine, referenceVersion } from '../lines.ts';
import { namesIn } from './confirm.ts';
import { type NodeRequest, type Tally, type Telling, workOnNodes } from './node-work.ts';
import { type OwnOptions, ownOptionsHelp, takeOwnOptions } from './own-options.ts';
import { asksHelp, asksVersion, rangeWords } from './range-words.ts';

/** A call of a familiar command of the form `COMMAND NODERANGE [words]`. */
export interface NodeCall {
  readonly invocation: Invocation;
  readonly range: string;
  readonly words: readonly string[];
  readonly own: OwnOptions;
}

interface NodeCommand {
  readonly usage: string;
  /** The exit status of a call without any word, which prints the usage. */
  readonly bare?: 0 | 1;
  run(call: NodeCall): Promise<number>;
}

export function nodeCommand({ usage, bare = 0, run }: NodeCommand): CliCommand {
  const help = `${usage}\n\n${ownOptionsHelp}`;
  return {
    usage: help,
    async run(invocation) {
      const { own, rest } = takeOwnOptions(invocation.argv);
      const { range, words } = rangeWords(rest);
      if (asksHelp(words[0])) return told(invocation, help);
      if (asksVersion(words[0])) return told(invocation, `Version ${referenceVersion}`);
      if (range === undefined) return told(invocation, help, bare);
      return run({ invocation, range, words, own });
    },
  };
}

/** The usual way: 1 if any node failed. */
export async function work(call: NodeCall, request: NodeRequest, telling: Telling): Promise<number> {
  const tally = await workOnNodes(call.invocation, request, { range: call.range, ...telling }, call.own);
  return codeOf(tally);
}

export const codeOf = ({ failed }: Tally): number => (failed > 0 ? 1 : 0);

/** Labels with their values; what has no label is a line of its own. */
export function labelled(value: unknown): string[] {
  return Object.entries((value ?? {}) as Record<string, string | readonly string[]>).flatMap(([label, texts]) =>
    [texts].flat().map((text) => (label === 'Message' ? text : `${label}: ${text}`)),
  );
}

/** What is wrong with the words themselves is told for every node of the range, before any is asked. */
export async function refuseForEach(
  { invocation: { client, stdout, stderr, env }, range }: NodeCall,
  say: (node: string) => { readonly error: string } | { readonly line: string },
): Promise<number> {
  const names = await namesIn(client, range);
  const { server } = client;
  for (const node of names) {
    const what = say(node);
    if ('error' in what) await stderr.line(nodeErrorLine(node, what.error, server));
    else await stdout.line(nodeLine(node, what.line, { env, server }));
  }
  return names.length > 0 ? 1 : 0;
}

const noDriver = 'Unable to identify plugin for this command, check relevant tables: nodehm.mgt';

/** The same where the sentence names the kind of hardware; nodes without one have no command at all. */
export async function refuseByKind(call: NodeCall, say: (mgt: string) => string): Promise<number> {
  const { client } = call.invocation;
  const names = await namesIn(client, call.range);
  if (names.length === 0) return 0;
  const kinds = (await client.get(path('nodes', call.range, 'attrs', 'mgt'))) as Record<string, { mgt?: string }>;
  return refuseForEach(call, (node) => {
    const mgt = kinds[node]?.mgt;
    return mgt ? { line: say(mgt) } : { error: noDriver };
  });
}
