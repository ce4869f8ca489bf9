import { randomBytes, timingSafeEqual } from 'node:crypto';
import { hashToken } from '../access/tokens.ts';
import { ownOrigin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';
import type { Row } from '../database/tables.ts';
import type { NodeIndex } from './node-index.ts';

const table = 'boottoken';
/** Milliseconds: a loader that does not hear an answer asks again soon. Whoever asks later boots again. */
const askedAgain = 10_000;

export interface TokenOptions {
  /** Milliseconds. */
  readonly lifetime: number;
  /** Whether something that users of a running node cannot bring about shows that the machine at this address boots again. */
  isNewBoot(address: string, since: Date): Promise<boolean>;
}

/**
 * By its token a node that boots shows that it is the one the boot line was made for. A node has one at a time, of which the table
 * keeps the hash alone. It is worth nothing when the node has booted, when its state is set again, and after its time. As soon as its
 * system runs, users of the node can fetch its script too: no token is handed out then until something shows a new boot.
 */
export class BootTokens {
  readonly #store: Store;
  readonly #index: NodeIndex;
  readonly #options: TokenOptions;
  /** What was handed out by this process: a loader that asks twice gets the same. */
  readonly #known = new Map<string, { readonly token: string; readonly hash: string }>();

  constructor(store: Store, index: NodeIndex, options: TokenOptions) {
    this.#store = store;
    this.#index = index;
    this.#options = options;
  }

  /** The token for the boot that begins; it is on disk when it is handed out. Undefined: nothing shows that one does. */
  async issue(node: string, state: string, address: string): Promise<string | undefined> {
    const row = this.#row(node);
    const closed = this.closedSince(node);
    if (closed && !(await this.#options.isNewBoot(address, closed))) return undefined;
    const known = this.#known.get(node);
    if (known && known.hash === row['hash'] && this.#isRecent(row, state)) return known.token;
    const token = randomBytes(16).toString('base64url');
    const hash = hashToken(token);
    this.#known.set(node, { token, hash });
    await this.#change(node, {
      ...nothing,
      hash,
      // Anybody can write the node's address on a request by TFTP: a boot that is under way keeps its token until the new one is used.
      previous: row['closed'] === undefined ? row['hash'] : undefined,
      made: new Date().toISOString(),
      state,
      hostkey: undefined,
    });
    return token;
  }

  /** Whether it is the node's, and the request comes from an address of the node. */
  check(node: string, token: string, address: string): boolean {
    const isKnown = this.#matches(node, token) || this.#matches(node, token, 'previous');
    return isKnown && this.#index.byAddress(address) === node;
  }

  /** The node reports something with this token, which was checked: it boots by this one, and one of before is worth nothing now. */
  async used(node: string, token: string): Promise<void> {
    if (this.#row(node)['previous'] !== undefined && this.#matches(node, token))
      await this.#change(node, { previous: undefined });
  }

  /** The state that the node's token was made for. */
  stateOf(node: string): string {
    return this.#row(node)['state'] ?? '';
  }

  /** The node boots from its disk: what ran in its RAM disk has ended, and with it the host key of that. */
  async leaveRamdisk(node: string): Promise<void> {
    if (this.#row(node)['hostkey'] !== undefined) await this.#change(node, { hostkey: undefined });
  }

  /** The node's own system begins to run. Its token is still good. */
  async close(node: string): Promise<void> {
    if (this.#row(node)['closed'] === undefined) await this.#change(node, { closed: new Date().toISOString() });
  }

  /** Since when the node's own system runs, as far as anything shows: scripts that were fetched later have no token. */
  closedSince(node: string): Date | undefined {
    const { closed } = this.#row(node);
    return closed === undefined ? undefined : new Date(closed);
  }

  /** The node has booted. */
  async end(node: string): Promise<void> {
    this.#known.delete(node);
    await this.#change(node, { ...nothing, closed: new Date().toISOString() });
  }

  /** Somebody who may do so has made the node restart. */
  async expectBoot(node: string): Promise<void> {
    if (this.#row(node)['closed'] !== undefined) await this.#change(node, { closed: undefined });
  }

  #row(node: string): Row {
    return this.#store.current.get(table, node) ?? {};
  }

  #matches(node: string, token: string, which: 'hash' | 'previous' = 'hash'): boolean {
    const { [which]: hash = '', made = '' } = this.#row(node);
    const given = Buffer.from(hashToken(token));
    const kept = Buffer.from(hash);
    if (given.length !== kept.length || !timingSafeEqual(given, kept)) return false;
    return this.#isWithin(made, this.#options.lifetime);
  }

  /** Whether a token was made a moment ago, for the boot that asks. */
  #isRecent({ state, made = '', installed, closed }: Row, wanted: string): boolean {
    const isOver = (installed ?? closed) !== undefined;
    return !isOver && state === wanted && this.#isWithin(made, Math.min(askedAgain, this.#options.lifetime));
  }

  #isWithin(made: string, milliseconds: number): boolean {
    return Date.parse(made) + milliseconds > Date.now();
  }

  async #change(node: string, columns: Readonly<Record<string, string | undefined>>): Promise<void> {
    await this.#store.change(ownOrigin('boot-token'), (head) => {
      const draft = new Draft(head);
      if (head.get('nodelist', node)) draft.merge(table, node, { node, ...columns });
      return draft.changes();
    });
  }
}

const nothing = {
  hash: undefined,
  previous: undefined,
  made: undefined,
  state: undefined,
  told: undefined,
  installed: undefined,
  closed: undefined,
} as const;

/** As a part of another change, such as a new state. The row stays, so that the next token is a change of volatile columns alone. */
export function endToken(draft: Draft, node: string): void {
  draft.merge(table, node, { node, ...nothing });
}

/** As a part of what comes of it: whether the node reports it for the first time in this boot. One that hears no answer reports it again. */
export function noteInstalled(draft: Draft, node: string): boolean {
  if (draft.base.get(table, node)?.['installed'] !== undefined) return false;
  // What it is to do next may be another boot.
  draft.merge(table, node, { node, installed: new Date().toISOString(), closed: undefined });
  return true;
}
