import type { Answer, NodeResult, NodeValue } from '../commands/command.ts';
import { Verdict } from '../commands/node-result.ts';
import { Fault } from '../core/errors.ts';
import type { ReplyShape } from './endpoint.ts';

/** All results of a command that works node by node as one answer; any error hides the rest, as the specification wants. */
export async function collectStream(results: AsyncIterable<NodeResult>, reply: ReplyShape): Promise<Answer> {
  const values = new Map<string, NodeValue>();
  const errors: string[] = [];
  const verdict = new Verdict();
  for await (const result of results) {
    if ('error' in result) errors.push(`${result.node}: ${result.error}`);
    else values.set(result.node, result.value);
    verdict.add(result);
  }
  if (verdict.kind) throw new Fault(verdict.kind, errors.sort());
  if (reply === 'none') return { shape: 'none' };
  const names = [...values.keys()].sort();
  return { shape: 'objects', names, attributes: (name) => values.get(name)! };
}
