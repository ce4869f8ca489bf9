import type { Answer } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import {
  complaintsIn,
  type NodeFailure,
  type NodeResult,
  type NodeValue,
  outputLines,
  Verdict,
} from '../core/results.ts';
import { byText } from '../database/sorted-map.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import type { Endpoint } from './endpoint.ts';
import type { Root } from './roots.ts';

type NodeSuccess = Exclude<NodeResult, NodeFailure>;

/** All results of a command that works node by node as one answer; any error hides the rest, as the specification wants. */
export async function collectStream(
  results: AsyncIterable<readonly NodeResult[]>,
  { reply, together }: Pick<Endpoint, 'reply' | 'together'>,
  { blankBeforeLines }: Pick<Root, 'blankBeforeLines'>,
): Promise<Answer> {
  const successes = new Map<string, NodeSuccess>();
  const errors: { readonly node: string; readonly sentences: readonly string[] }[] = [];
  const verdict = new Verdict();
  for await (const batch of results) {
    for (const result of batch) {
      if ('error' in result) errors.push({ node: result.node, sentences: sentencesOf(result) });
      else successes.set(result.node, result);
      verdict.add(result);
    }
  }
  if (verdict.kind) throw new Fault(verdict.kind, named(errors));
  if (reply === 'none') return { shape: 'none', messages: messagesIn(successes) };
  if (together) {
    const lines = new Map([...successes].map(([node, result]) => [node, valueOf(result) as readonly string[]]));
    return { shape: 'list', items: together(lines) };
  }
  const names = [...successes.keys()].sort();
  const shown = (name: string): NodeValue => {
    const value = valueOf(successes.get(name)!);
    return blankBeforeLines && Array.isArray(value) ? withBlanks(value as readonly string[]) : value;
  };
  return { shape: 'objects', names, attributes: shown };
}

const withBlanks = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => (line.trim() === '' ? [] : ` ${line}`));

/** The same for those who can read both: the results of nodes, and what went wrong with others. */
export async function collectLenient(results: AsyncIterable<readonly NodeResult[]>): Promise<Answer> {
  const all = (await Array.fromAsync(results)).flat();
  const found: [string, NodeValue][] = [];
  const errors: [string, string][] = [];
  for (const result of all.sort((a, b) => byText(a.node, b.node))) {
    if ('error' in result) errors.push([result.node, sentencesOf(result).map(sentenceWithoutSecrets).join(' ')]);
    else found.push([result.node, valueOf(result)]);
  }
  return { shape: 'value', value: { results: Object.fromEntries(found), errors: Object.fromEntries(errors) } };
}

const valueOf = (result: NodeSuccess): NodeValue => ('value' in result ? result.value : outputLines(result.output));

/** What the nodes say beside that all is well. */
const messagesIn = (successes: ReadonlyMap<string, NodeSuccess>): string[] =>
  [...successes].flatMap(([node, result]) => {
    const { Message = [] } = valueOf(result) as Readonly<Record<string, string | readonly string[]>>;
    return [Message].flat().map((sentence) => `${node}: ${sentence}`);
  });

/** What a command printed before it failed says more than that it did. */
const sentencesOf = ({ error, output }: NodeFailure): string[] => [...(output ? complaintsIn(output) : []), error];

const named = (errors: { readonly node: string; readonly sentences: readonly string[] }[]): string[] =>
  errors
    .sort((a, b) => byText(a.node, b.node))
    .flatMap(({ node, sentences }) => sentences.map((sentence) => `${node}: ${sentence}`));
