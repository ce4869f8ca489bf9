import { type Origin, originOfWork } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import type { HostKeys } from '../../protocols/ssh/host-keys.ts';

const table = 'spcert';
export const certificateTable = table;
/** Certificates that muster has given to BMCs, until they have shown them. */
export const pendingTable = 'bmccertificate';

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

  /** The one that muster has given it, which it may show from now on. */
  next(node: string): string | undefined {
    return this.#store.current.get(pendingTable, node)?.['fingerprint'] || undefined;
  }

  async succeeds(node: string, fingerprint: string): Promise<boolean> {
    if (this.next(node)?.toLowerCase() !== fingerprint.toLowerCase()) return false;
    await this.learn(node, fingerprint);
    return true;
  }

  /** SSH host keys, kept beside the certificates. */
  get hostKeys(): HostKeys {
    return {
      policy: 'first-use',
      known: (node) => [this.#store.current.get(table, node)?.['hostkey']].filter((key) => key !== undefined),
      learn: (node, hostkey) => this.#learn(node, { hostkey }, originOfWork('trust-host-key')),
      howToForget: (node) => this.howToForget(node),
      howToLearn: (node) => this.howToForget(node),
    };
  }

  howToForget(node: string): string {
    return `DELETE /tables/${table}/rows/node=${node}`;
  }

  async learn(node: string, fingerprint: string, origin: Origin = originOfWork('trust-certificate')): Promise<void> {
    await this.#learn(node, { fingerprint }, origin);
  }

  async #learn(node: string, shown: Readonly<Record<string, string>>, origin: Origin): Promise<void> {
    await this.#store.change(origin, (head) => {
      const draft = new Draft(head);
      const kept = head.get(table, node);
      const { fingerprint } = shown;
      if (fingerprint !== undefined && head.get(pendingTable, node)?.['fingerprint'] === fingerprint) {
        draft.merge(table, node, { node, fingerprint });
        draft.remove(pendingTable, node);
        return draft.changes();
      }
      // Whoever saw it first, also if a worker did.
      if (Object.keys(shown).every((column) => !kept?.[column])) draft.merge(table, node, { node, ...shown });
      return draft.changes();
    });
  }
}

/** For a process that keeps nothing. */
export function hostKeysInMemory(): HostKeys {
  const keys = new Map<string, string>();
  return {
    policy: 'first-use',
    known: (node) => [keys.get(node)].filter((key) => key !== undefined),
    learn: async (node, key) => void keys.set(node, key),
    howToForget: () => 'restart muster',
    howToLearn: () => 'restart muster',
  };
}
