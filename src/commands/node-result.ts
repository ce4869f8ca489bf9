import type { NodeFailure, NodeResult } from './command.ts';

/** What a client sees of a result. */
export const shownResult = (result: NodeResult): NodeResult =>
  'error' in result ? { node: result.node, error: result.error, output: result.output } : result;

/** The kind of error that results together are; undefined if all is well. */
export class Verdict {
  #failed = false;
  #kinds = new Set<NodeFailure | undefined>();

  add(result: NodeResult): void {
    this.#failed ||= 'error' in result;
    this.#kinds.add('error' in result ? result.kind : undefined);
  }

  get kind(): NodeFailure | 'invalid' | undefined {
    if (!this.#failed) return undefined;
    const [kind] = this.#kinds;
    return this.#kinds.size === 1 && kind ? kind : 'invalid';
  }
}
