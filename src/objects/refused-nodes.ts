import { Fault } from '../core/errors.ts';

const mostSentences = 20;

/** Nodes of a request that cannot be served while the others are, and why. */
export class RefusedNodes {
  readonly #sentences = new Map<string, readonly string[]>();
  #advice: string | undefined;

  has(node: string): boolean {
    return this.#sentences.has(node);
  }

  /** What is said last, whatever else is left out. */
  advise(sentence: string): void {
    this.#advice = sentence;
  }

  refuse(node: string, sentences: readonly string[]): void {
    this.#sentences.set(node, [...(this.#sentences.get(node) ?? []), ...sentences]);
  }

  /** Throws what is to be said, if there is anything. */
  tell(): void {
    if (this.#sentences.size === 0) return;
    // What is wrong with the site or a network is wrong with each of its nodes.
    const all = [...new Set([...this.#sentences.values()].flat())];
    const shown = all.slice(0, mostSentences);
    if (all.length > shown.length) shown.push(`${all.length - shown.length} more sentences like these are left out.`);
    throw new Fault('invalid', this.#advice === undefined ? shown : [...shown, this.#advice]);
  }
}

/** Does something for a node. What is refused is noted if there is where, and the answer is false. */
export function attemptFor(refused: RefusedNodes | undefined, node: string, work: () => void): boolean {
  if (!refused) {
    work();
    return true;
  }
  if (refused.has(node)) return false;
  try {
    work();
    return !refused.has(node);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    refused.refuse(node, error.sentences);
    return false;
  }
}
