import { ownOrigin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';
import type { HostKeys } from '../protocols/ssh/host-keys.ts';

const table = 'sshhostkey';

/** The host keys of nodes, kept per node in table `sshhostkey`; deleting the row accepts a new one. */
export class SshHostKeys implements HostKeys {
  readonly #store: Store;
  readonly policy: HostKeys['policy'];

  constructor(store: Store, policy: HostKeys['policy']) {
    this.#store = store;
    this.policy = policy;
  }

  /** What people write into the row may have a comment at its end. */
  known(node: string): string | undefined {
    const key = this.#store.current.get(table, node)?.['hostkey'];
    return key === undefined ? undefined : key.trim().split(/\s+/, 2).join(' ');
  }

  howToForget(node: string): string {
    const next = this.policy === 'strict' ? this.howToLearn(node) : 'The next connection then accepts the new one.';
    return `DELETE /tables/${table}/rows/node=${node}. ${next}`;
  }

  howToLearn(node: string): string {
    return `PUT /tables/${table}/rows/node=${node} with {"hostkey":"ssh-ed25519 AAAA..."}.`;
  }

  async learn(node: string, hostkey: string): Promise<void> {
    await this.#store.change(ownOrigin('trust-host-key'), (head) => {
      const draft = new Draft(head);
      if (!head.get(table, node)?.['hostkey']) draft.merge(table, node, { node, hostkey });
      return draft.changes();
    });
  }
}
