import type { Answer, NodeResult, NodeValue } from '../commands/command.ts';
import { Verdict } from '../commands/node-result.ts';
import { Fault } from '../core/errors.ts';
import { byText } from '../database/sorted-map.ts';
import { NodeOutput } from '../services/remote/node-output.ts';
import type { Endpoint } from './endpoint.ts';

type NodeError = Extract<NodeResult, { readonly error: string }>;

/** All results of a command that works node by node as one answer; any error hides the rest, as the specification wants. */
export async function collectStream(
  results: AsyncIterable<NodeResult>,
  { reply, together }: Pick<Endpoint, 'reply' | 'together'>,
): Promise<Answer> {
  const values = new Map<string, NodeValue | NodeOutput>();
  const errors: { readonly node: string; readonly sentences: readonly string[] }[] = [];
  const verdict = new Verdict();
  for await (const result of results) {
    if ('error' in result) errors.push({ node: result.node, sentences: sentencesOf(result) });
    else values.set(result.node, result.value);
    verdict.add(result);
  }
  if (verdict.kind) throw new Fault(verdict.kind, told(errors));
  if (reply === 'none') return { shape: 'none', messages: messagesIn(values) };
  if (together) return { shape: 'list', items: together(values as ReadonlyMap<string, readonly string[]>) };
  const names = [...values.keys()].sort();
  return { shape: 'objects', names, attributes: (name) => shown(values.get(name)!) };
}

const shown = (value: NodeValue | NodeOutput): NodeValue => (value instanceof NodeOutput ? value.lines() : value);

/** What the nodes say beside that all is well. */
const messagesIn = (values: ReadonlyMap<string, NodeValue | NodeOutput>): string[] =>
  [...values].flatMap(([node, value]) => {
    const { Message = [] } = shown(value) as Readonly<Record<string, string | readonly string[]>>;
    return [Message].flat().map((sentence) => `${node}: ${sentence}`);
  });

/** What a command printed before it failed says more than that it did. */
const sentencesOf = ({ error, output }: NodeError): string[] => [...(output?.complaints() ?? []), error];

const told = (errors: { readonly node: string; readonly sentences: readonly string[] }[]): string[] =>
  errors
    .sort((a, b) => byText(a.node, b.node))
    .flatMap(({ node, sentences }) => sentences.map((sentence) => `${node}: ${sentence}`));
