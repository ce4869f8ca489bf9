import type { Fault } from '../../core/errors.ts';

export interface NodeFailure {
  readonly node: string;
  readonly error: string;
  /** If it is more than that it failed. */
  readonly kind?: 'deadline' | 'garbled';
}

/** What went wrong with a node, as the result of a command tells it. */
export function nodeFailure(node: string, { kind, sentences }: Fault): NodeFailure {
  return { node, error: sentences.join(' '), ...(kind === 'deadline' || kind === 'garbled' ? { kind } : {}) };
}
