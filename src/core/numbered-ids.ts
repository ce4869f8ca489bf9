import { randomUUID } from 'node:crypto';

const countLength = 12;
/** The last digits are taken from a list, since every request needs two ids. */
const lastLength = 3;
const lastDigits = Array.from({ length: 16 ** lastLength }, (_, count) => count.toString(16).padStart(lastLength, '0'));

/** Ids in UUID form: a part that is random for each source, then a count. They cost little, and the count leads back to things. */
export class NumberedIds {
  readonly #prefix = randomUUID().slice(0, -countLength);
  #block = -1;
  #blockPrefix = '';

  id(count: number): string {
    const block = Math.floor(count / lastDigits.length);
    if (block !== this.#block) {
      this.#block = block;
      this.#blockPrefix = this.#prefix + block.toString(16).padStart(countLength - lastLength, '0');
    }
    return this.#blockPrefix + lastDigits[count % lastDigits.length]!;
  }

  /** Undefined if the id is not of this source. */
  countOf(id: string): number | undefined {
    if (!id.startsWith(this.#prefix)) return undefined;
    const count = Number.parseInt(id.slice(-countLength), 16);
    return this.id(count) === id ? count : undefined;
  }
}
