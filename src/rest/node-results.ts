import type { Answer, NodeResult, NodeValue } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { ReplyShape } from './endpoint.ts';

/** All results of a command that works node by node as one answer; any error hides the rest, as the specification wants. */
export async function collectStream(results: AsyncIterable<NodeResult>, reply: ReplyShape): Promise<Answer> {
  const values = new Map<string, NodeValue>();
  const errors: string[] = [];
  let allLate = true;
  for await (const result of results) {
    if ('error' in result) errors.push(`${result.node}: ${result.error}`);
    else values.set(result.node, result.value);
    allLate &&= 'late' in result;
  }
  if (errors.length > 0) throw new Fault(allLate ? 'deadline' : 'invalid', errors.sort());
  if (reply === 'none') return { shape: 'none' };
  const names = [...values.keys()].sort();
  return { shape: 'objects', names, attributes: (name) => values.get(name)! };
}
