import { Fault } from '../core/errors.ts';

const maximumFaults = 50;
const nothingDone = 'Nothing was imported.';

/** Collects what is wrong in the files of an import, so that one run shows it all; gives up when it is too much. */
export class ImportFaults {
  readonly #sentences: string[] = [];

  add(where: string, sentence: string): void {
    this.#sentences.push(`${where}: ${sentence}`);
    if (this.#sentences.length < maximumFaults) return;
    throw this.#fault(`After ${maximumFaults} faults no further ones were looked for. ${nothingDone}`);
  }

  throwIfAny(): void {
    if (this.#sentences.length > 0) throw this.#fault(nothingDone);
  }

  #fault(end: string): Fault {
    return new Fault('invalid', [...this.#sentences, end]);
  }
}
