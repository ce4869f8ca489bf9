import type { Answer, NodeResult } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { Attributes } from './body-writer.ts';
import type { ReplyShape } from './endpoint.ts';

/** All results of a command that works node by node as one answer; any error hides the rest, as the specification wants. */
export async function collectStream(results: AsyncIterable<NodeResult>, reply: ReplyShape): Promise<Answer> {
  const values = new Map<string, Attributes>();
  const errors: string[] = [];
  for await (const result of results) {
    if ('error' in result) errors.push(`${result.node}: ${result.error}`);
    else values.set(result.node, result.value);
  }
  if (errors.length > 0) throw new Fault('invalid', errors.sort());
  if (reply === 'none') return { shape: 'none' };
  if (reply === 'list')
    return {
      shape: 'list',
      items: [...values.values()].flatMap((value) => (Array.isArray(value) ? (value as string[]) : [])),
    };
  const names = [...values.keys()].sort();
  return { shape: 'objects', names, attributes: (name) => values.get(name)! };
}
