import { type FaultData, orFault } from '../../core/errors.ts';

/** What was looked for, each once, or why it was not found: as plain data that many nodes share. */
export class Findings<T> {
  readonly all: Record<string, T | FaultData> = {};
  readonly #looking = new Map<string, Promise<void>>();

  /** Resolves when it is among them. */
  find(key: string, look: () => Promise<T>): Promise<void> {
    let looking = this.#looking.get(key);
    if (!looking) this.#looking.set(key, (looking = this.#look(key, look)));
    return looking;
  }

  async #look(key: string, look: () => Promise<T>): Promise<void> {
    this.all[key] = await orFault(look());
  }
}
