import { isIP } from 'node:net';
import type { Effect } from '../core/effects.ts';
import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { assign } from '../objects/assign.ts';
import { effectiveReader, explainAttribute } from '../objects/effective.ts';
import { nodeType } from '../objects/types.ts';
import type { NodeStatus } from './node-status.ts';
import type { ServiceProcessorTrust } from '../drivers/index.ts';
import type { SshHostKeys } from './ssh-keys.ts';

/** Keeps an effect. A promise where the node's result has to wait for it; it may bring a sentence that belongs to the result. */
type Keep<E extends Effect> = (node: string, effect: E, origin: Origin) => Promise<string | void> | void;

/** Who keeps which effect: each wing has its own, and together they have all. How far work is, its run keeps. */
export type EffectHandlers = {
  readonly [Kind in Exclude<Effect['kind'], 'progress'>]: Keep<Extract<Effect, { readonly kind: Kind }>>;
};

/** Keeps what work on nodes has found and brought about. */
export class Effects {
  readonly #handlers: Readonly<Record<string, Keep<Effect>>>;
  readonly #status: Pick<NodeStatus, 'flush'>;

  constructor(handlers: EffectHandlers, status: Pick<NodeStatus, 'flush'>) {
    this.#handlers = handlers as unknown as Readonly<Record<string, Keep<Effect>>>;
    this.#status = status;
  }

  apply(node: string, effect: Effect, origin: Origin): Promise<string | void> | undefined {
    return this.#handlers[effect.kind]?.(node, effect, origin) || undefined;
  }

  /** Resolves when what was noted is to be seen. */
  flush(): Promise<void> {
    return this.#status.flush();
  }
}

interface NodeEffectServices {
  readonly store: Store;
  readonly status: NodeStatus;
  readonly certificates: Pick<ServiceProcessorTrust, 'learn'>;
  readonly hostKeys: Pick<SshHostKeys, 'learn'>;
  readonly events: { power(node: string, power: string): void };
  /** Called for nodes that were made to restart. */
  expectBoot(node: string): Promise<void> | undefined;
}

/** What rpower says of a node that it has switched: sooner or later it restarts. */
const powerStatuses: ReadonlySet<string> = new Set(['powering-on', 'powering-off']);

export const nodeEffects = ({ store, status, certificates, hostKeys, events, expectBoot }: NodeEffectServices) =>
  ({
    status(node, effect) {
      status.note(node, effect.status);
      return powerStatuses.has(effect.status) ? expectBoot(node) : undefined;
    },
    power: (node, effect) => events.power(node, effect.power),
    sighting: (node, effect) => status.keep(node, effect.status, effect.applications),
    update: (node, effect) => status.noteUpdate(node, effect.state),
    moved: (node, { from, to }, origin) =>
      followMove(store, origin, node, from, to).catch((error: unknown) => {
        throw new Fault(
          'unavailable',
          `its BMC has moved to ${to}, but its attribute bmc could not be changed: set it to that.`,
          { cause: error },
        );
      }),
    certificate: (node, { fingerprint }, origin) => certificates.learn(node, fingerprint, origin),
    'host-key': (node, { key }, origin) => hostKeys.learn(node, key, origin),
  }) satisfies Partial<EffectHandlers>;

/**
 * A node's BMC has moved. If its attribute bmc was the old address, it becomes the new one, as the node's own value even
 * if it was inherited; a name or another address is left to whoever keeps it. Resolves with a sentence that says which.
 */
export async function followMove(
  store: Store,
  origin: Origin,
  node: string,
  from: string,
  to: string,
): Promise<string> {
  let sentence = '';
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    const { follows, because } = judge(head, node, from, to);
    if (follows) assign(draft, { type: nodeType, name: node, attributes: { bmc: to }, mode: 'set', fresh: false });
    sentence = `Its BMC has moved from ${from} to ${to}; ${because}`;
    return draft.changes();
  });
  return sentence;
}

function judge(head: Snapshot, node: string, from: string, to: string): { follows: boolean; because: string } {
  const reader = effectiveReader(head);
  if (!reader.nodeRow(node)) return { follows: false, because: 'the node has been removed meanwhile.' };
  const { value, source, row, stored } = explainAttribute(reader, node, 'bmc');
  const left = (because: string) => ({ follows: false, because: `its attribute bmc ${because}` });
  if (value === to) return left(`is ${to} already.`);
  if (isIP(value ?? '') === 0) return left(`is "${value}" and was not changed: make sure that it leads to ${to}.`);
  if (value !== from) return left(`is ${value}, another address than the one that moved, and was not changed.`);
  const instead =
    source === 'group'
      ? ` as its own value, instead of that of the group ${row}`
      : stored === value
        ? ''
        : ` instead of ${stored}`;
  return { follows: true, because: `its attribute bmc is ${to} now${instead}.` };
}
