import { type Origin, originOfWork } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import type { HostKeys } from '../protocols/ssh/host-keys.ts';

const table = 'sshhostkey';

/** What people write into the row may have a comment at its end. */
export const knownHostKey = (snapshot: Snapshot, node: string): string | undefined =>
  snapshot.get(table, node)?.['hostkey']?.trim().split(/\s+/, 2).join(' ');

/** The host keys of nodes, kept per node in table `sshhostkey`; deleting the row accepts a new one. */
export class SshHostKeys implements HostKeys {
  readonly #store: Store;
  readonly policy: HostKeys['policy'];

  constructor(store: Store, policy: HostKeys['policy']) {
    this.#store = store;
    this.policy = policy;
  }

  known(node: string): string | undefined {
    return knownHostKey(this.#store.current, node);
  }

  howToForget(node: string): string {
    const next = this.policy === 'strict' ? this.howToLearn(node) : 'The next connection then accepts the new one.';
    return `DELETE /tables/${table}/rows/node=${node}. ${next}`;
  }

  howToLearn(node: string): string {
    return `PUT /tables/${table}/rows/node=${node} with {"hostkey":"ssh-ed25519 AAAA..."}.`;
  }

  async learn(node: string, hostkey: string, origin: Origin = originOfWork('trust-host-key')): Promise<void> {
    await this.#store.change(origin, (head) => {
      const draft = new Draft(head);
      if (!head.get(table, node)?.['hostkey']) draft.merge(table, node, { node, hostkey });
      return draft.changes();
    });
  }
}
