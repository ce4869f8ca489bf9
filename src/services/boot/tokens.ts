import { randomBytes, timingSafeEqual } from 'node:crypto';
import { hashToken } from '../../access/tokens.ts';
import { ownOrigin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import type { NodeIndex } from './node-index.ts';

const table = 'boottoken';

/**
 * By its token a node that boots shows that it is the one the boot line was made for. A node has one at a time, of which the table
 * keeps the hash alone. It is worth nothing when the node has booted, when its state is set anew, and after its time.
 */
export class BootTokens {
  readonly #store: Store;
  readonly #index: NodeIndex;
  readonly #lifetime: number;
  /** What was handed out by this process: a loader that asks twice gets the same. */
  readonly #known = new Map<string, string>();

  /** `lifetime` in milliseconds. */
  constructor(store: Store, index: NodeIndex, lifetime: number) {
    this.#store = store;
    this.#index = index;
    this.#lifetime = lifetime;
  }

  /** The token for the boot that begins; it is on disk when it is handed out. */
  async issue(node: string, state: string): Promise<string> {
    const known = this.#known.get(node);
    const made = known === undefined ? undefined : this.#madeAt(node, known);
    // One that would end in the middle of the boot is replaced.
    if (known !== undefined && made !== undefined && made + this.#lifetime / 2 > Date.now()) return known;
    const token = randomBytes(16).toString('base64url');
    this.#known.set(node, token);
    await this.#store.change(ownOrigin('boot-token'), (head) => {
      const draft = new Draft(head);
      if (head.get('nodelist', node))
        draft.merge(table, node, {
          node,
          hash: hashToken(token),
          made: new Date().toISOString(),
          state,
          hostkey: undefined,
        });
      return draft.changes();
    });
    return token;
  }

  /** Whether it is the node's, and the request comes from an address of the node. */
  check(node: string, token: string, address: string): boolean {
    return this.#madeAt(node, token) !== undefined && this.#index.byAddress(address) === node;
  }

  /** The state that the node's token was made for. */
  stateOf(node: string): string {
    return this.#store.current.get(table, node)?.['state'] ?? '';
  }

  /** The node boots from its disk: what ran in its RAM disk has ended, and with it the host key of that. */
  async leaveRamdisk(node: string): Promise<void> {
    if (this.#store.current.get(table, node)?.['hostkey'] === undefined) return;
    await this.#store.change(ownOrigin('boot-token'), (head) => {
      const draft = new Draft(head);
      if (head.get(table, node)) draft.merge(table, node, { node, hostkey: undefined });
      return draft.changes();
    });
  }

  async end(node: string): Promise<void> {
    this.#known.delete(node);
    await this.#store.change(ownOrigin('boot-token'), (head) => {
      const draft = new Draft(head);
      endToken(draft, node);
      return draft.changes();
    });
  }

  /** Since when it is good; undefined: it is not. */
  #madeAt(node: string, token: string): number | undefined {
    const { hash = '', made = '' } = this.#store.current.get(table, node) ?? {};
    const given = Buffer.from(hashToken(token));
    const kept = Buffer.from(hash);
    if (given.length !== kept.length || !timingSafeEqual(given, kept)) return undefined;
    const since = Date.parse(made);
    return since + this.#lifetime > Date.now() ? since : undefined;
  }
}

/** As a part of another change, such as a new state. The row stays, so that the next token is a change of volatile columns alone. */
export function endToken(draft: Draft, node: string): void {
  draft.merge(table, node, { node, hash: undefined, made: undefined, state: undefined });
}
