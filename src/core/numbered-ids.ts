import { randomUUID } from 'node:crypto';

const countLength = 12;

/** Ids in UUID form: a part that is random for each source, then a count. They cost little, and the count leads back to things. */
export class NumberedIds {
  readonly #prefix = randomUUID().slice(0, -countLength);

  id(count: number): string {
    return this.#prefix + count.toString(16).padStart(countLength, '0');
  }

  /** Undefined if the id is not of this source. */
  countOf(id: string): number | undefined {
    if (!id.startsWith(this.#prefix)) return undefined;
    const count = Number.parseInt(id.slice(-countLength), 16);
    return this.id(count) === id ? count : undefined;
  }
}
