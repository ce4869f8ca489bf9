import { Fault } from '../../core/errors.ts';

export interface NodeFailure {
  readonly node: string;
  readonly error: string;
  /** If it is more than that it failed. */
  readonly kind?: 'deadline' | 'garbled';
}

/** Part of it may be what a node sent. */
const longest = 8 * 1024;

/** What went wrong with a node, as the result of a command tells it. */
export function nodeFailure(node: string, { kind, sentences }: Fault): NodeFailure {
  const text = sentences.join(' ');
  const error = text.length > longest ? `${text.slice(0, longest)}...` : text;
  return { node, error, ...(kind === 'deadline' || kind === 'garbled' ? { kind } : {}) };
}

/** Makes a fault, such as that the command was cancelled before its turn came, the node's result. */
export const failed =
  (node: string) =>
  (error: unknown): NodeFailure => {
    if (error instanceof Fault) return nodeFailure(node, error);
    throw error;
  };
