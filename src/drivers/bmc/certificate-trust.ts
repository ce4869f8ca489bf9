import { type Origin, originOfWork } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';

const table = 'spcert';

/** The certificates that BMCs showed first, kept per node in table `spcert`; deleting the row accepts a new one. */
export class ServiceProcessorTrust {
  readonly #store: Store;
  readonly ca: string | undefined;

  constructor(store: Store, ca: string | undefined) {
    this.#store = store;
    this.ca = ca;
  }

  known(node: string): string | undefined {
    return this.#store.current.get(table, node)?.['fingerprint'];
  }

  howToForget(node: string): string {
    return `DELETE /tables/${table}/rows/node=${node}`;
  }

  async learn(node: string, fingerprint: string, origin: Origin = originOfWork('trust-certificate')): Promise<void> {
    await this.#store.change(origin, (head) => {
      const draft = new Draft(head);
      draft.merge(table, node, { node, fingerprint });
      return draft.changes();
    });
  }
}
