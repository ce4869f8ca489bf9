import type { FaultData } from '../../core/errors.ts';
import { NamedSlots } from '../../core/slots.ts';
import type { Target } from '../../protocols/ssh/target.ts';
import { RemoteNode, type RemoteNodeOptions } from './remote-node.ts';

/** Nodes that are worked on for one user at once, by all that the user has asked for: each takes a connection. */
const nodesPerUser = 1_024;

/** Who works on a node. */
export interface RemoteUser {
  readonly node: string;
  /** Of the API. */
  readonly user: string;
  readonly signal: AbortSignal;
}

/** The nodes that this process reaches by SSH. */
export class RemoteNodes {
  readonly #options: RemoteNodeOptions;
  /** By user. */
  readonly #slots: NamedSlots;
  /** Of nodes that are brought up to date: each by one at a time. */
  readonly #updates = new NamedSlots(1);

  constructor(options: RemoteNodeOptions, slotsPerUser = nodesPerUser) {
    this.#options = options;
    this.#slots = new NamedSlots(slotsPerUser);
  }

  /** Works on a node when the user has a slot. */
  use<T>(target: Target | FaultData, { user, signal }: RemoteUser, work: (node: RemoteNode) => Promise<T>): Promise<T> {
    return this.#slots.take(user, signal, () => work(new RemoteNode(this.#options, target, signal)));
  }

  /** The same, when no other update of the node is under way. */
  update<T>(target: Target | FaultData, by: RemoteUser, work: (node: RemoteNode) => Promise<T>): Promise<T> {
    return this.#updates.take(by.node, by.signal, () => this.use(target, by, work));
  }

  close(): Promise<void> {
    return this.#options.transport.close();
  }
}
