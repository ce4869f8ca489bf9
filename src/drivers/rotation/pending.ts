import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import type { Origin } from '../../database/changeset.ts';
import { Draft, type Seal } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import { assign } from '../../objects/assign.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { nodeType } from '../../objects/types.ts';

export const rotationTable = 'bmcrotation';
const column = `${rotationTable}.password`;

/** Passwords that were made and may have been sent, kept sealed until it is known which one counts. */
export class PendingPasswords {
  readonly #store: Store;
  readonly #seal: Seal;
  readonly #box: Pick<SecretBox, 'open'>;

  constructor(store: Store, seal: Seal, box: Pick<SecretBox, 'open'>) {
    this.#store = store;
    this.#seal = seal;
    this.#box = box;
  }

  /** The nodes whose rotation has begun and not ended. */
  get nodes(): readonly string[] {
    return [...this.#store.current.rows(rotationTable).values()].map((row) => row['node']!);
  }

  of(node: string): string | undefined {
    const sealed = this.#store.current.get(rotationTable, node)?.['password'];
    return sealed ? this.#box.open(sealed, column) : undefined;
  }

  /** Resolves when it is on disk. */
  keep(nodes: readonly string[], password: string, origin: Origin): Promise<unknown> {
    return this.#change(origin, (draft) => {
      const reader = effectiveReader(draft.base);
      for (const node of nodes) {
        if (!reader.nodeRow(node))
          throw new Fault('unknown-object', 'the node has been removed meanwhile; nothing was sent.');
        draft.merge(rotationTable, node, { node, password });
      }
    });
  }

  /** The new one counts: it becomes the nodes' own, with the name of its account, and is pending no longer. */
  take(nodes: readonly string[], username: string, password: string, origin: Origin): Promise<unknown> {
    return this.#change(origin, (draft) => {
      const reader = effectiveReader(draft.base);
      for (const node of nodes) {
        if (!reader.nodeRow(node)) continue;
        const attributes = { bmcusername: username, bmcpassword: password };
        assign(draft, { type: nodeType, name: node, attributes, mode: 'set', fresh: false });
        if (draft.get(rotationTable, node)) draft.remove(rotationTable, node);
      }
    });
  }

  /** The one before counts. */
  drop(nodes: readonly string[], origin: Origin): Promise<unknown> {
    return this.#change(origin, (draft) => {
      for (const node of nodes) if (draft.get(rotationTable, node)) draft.remove(rotationTable, node);
    });
  }

  #change(origin: Origin, write: (draft: Draft) => void): Promise<unknown> {
    return this.#store.change(origin, (head) => {
      const draft = new Draft(head, this.#seal);
      write(draft);
      return draft.changes();
    });
  }
}

/** Notes that the rotation of a node begins; a password that is pending from before stays. */
export const noteRotation = (draft: Draft, node: string, account: string, since: string): void =>
  draft.merge(rotationTable, node, { node, account, since });
