import type { Origin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { certificateTable, pendingTable } from '../bmc/certificate-trust.ts';

/** Notes that the certificate of a node's BMC is about to be replaced; one that is pending from before stays. */
export const noteCertificate = (draft: Draft, node: string, since: string): void =>
  draft.merge(pendingTable, node, { node, since });

/** Certificates that BMCs may have got. They count from when a BMC shows them first; the one before counts until then. */
export class PendingCertificates {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  of(node: string): string | undefined {
    return this.#store.current.get(pendingTable, node)?.['fingerprint'] || undefined;
  }

  /** Resolves when it is on disk. */
  keep(nodes: readonly string[], fingerprint: string, origin: Origin): Promise<unknown> {
    return this.#change(nodes, origin, (draft, node) => draft.merge(pendingTable, node, { node, fingerprint }));
  }

  /** Its BMC has shown it. */
  take(nodes: readonly string[], fingerprint: string, origin: Origin): Promise<unknown> {
    return this.#change(nodes, origin, (draft, node) => {
      draft.merge(certificateTable, node, { node, fingerprint });
      if (draft.get(pendingTable, node)) draft.remove(pendingTable, node);
    });
  }

  /** The one before counts. */
  drop(nodes: readonly string[], origin: Origin): Promise<unknown> {
    return this.#change(nodes, origin, (draft, node) => {
      if (draft.get(pendingTable, node)) draft.remove(pendingTable, node);
    });
  }

  #change(nodes: readonly string[], origin: Origin, write: (draft: Draft, node: string) => void): Promise<unknown> {
    return this.#store.change(origin, (head) => {
      const draft = new Draft(head);
      const reader = effectiveReader(head);
      // One may have been removed meanwhile.
      for (const node of nodes) if (reader.nodeRow(node)) write(draft, node);
      return draft.changes();
    });
  }
}
