import { isIP } from 'node:net';
import type { Effect } from '../core/effects.ts';
import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { assign } from '../objects/assign.ts';
import { effectiveReader } from '../objects/effective.ts';
import { explainAttribute } from '../objects/explain.ts';
import { nodeType } from '../objects/types.ts';
import type { BootTokens } from './boot/tokens.ts';
import { keepChange, keepHost, keepMove } from './changed-machine.ts';
import { keepIdentity } from './made-machine.ts';
import { keepMaster } from './masters.ts';
import type { NodeStatus } from './node-status.ts';
import type { ServiceProcessorTrust } from './service-processor-trust.ts';
import type { SshHostKeys } from './ssh-host-keys.ts';

interface EffectServices {
  readonly store: Store;
  readonly status: NodeStatus;
  readonly certificates: Pick<ServiceProcessorTrust, 'learn'>;
  readonly hostKeys: Pick<SshHostKeys, 'learn'>;
  /** Hears what the power of nodes is. */
  readonly events: { power(node: string, power: string): void };
  /** Hears of nodes that were made to start anew. */
  readonly boots: Pick<BootTokens, 'expectBoot'>;
  /** Whether there is an audit log. */
  readonly audit: boolean;
}

/** What rpower says of a node that it has switched: sooner or later it starts anew. */
const powerStatuses: ReadonlySet<string> = new Set(['powering-on', 'powering-off']);

/** Keeps what work on nodes has found and brought about. */
export class Effects {
  readonly #services: EffectServices;

  constructor(services: EffectServices) {
    this.#services = services;
  }

  /** A promise where the node's result has to wait for it; it may bring a sentence that belongs to the result. */
  apply(node: string, effect: Effect, origin: Origin): Promise<string | void> | undefined {
    const { status, certificates, hostKeys, events, boots } = this.#services;
    switch (effect.kind) {
      case 'status':
        status.note(node, effect.status);
        return powerStatuses.has(effect.status) ? boots.expectBoot(node) : undefined;
      case 'power':
        events.power(node, effect.power);
        return undefined;
      case 'sighting':
        status.keep(node, effect.status, effect.applications);
        return undefined;
      case 'update':
        status.noteUpdate(node, effect.state);
        return undefined;
      case 'moved':
        return this.#follow(node, effect.from, effect.to, origin);
      case 'machine':
        return keepIdentity(this.#services.store, origin, node, effect);
      case 'migrating':
        return keepMove(this.#services.store, origin, node, effect.to);
      case 'migrated':
        return keepHost(this.#services.store, origin, node, effect.to);
      case 'master':
        return keepMaster(this.#services.store, origin, node, effect);
      case 'progress':
        return undefined;
      case 'machine-changed':
        return keepChange(this.#services.store, origin, node, effect);
      case 'foreign-removed':
        return this.#audit(node, `removed ${effect.what}`, origin);
      case 'certificate':
        return certificates.learn(node, effect.fingerprint, origin);
      case 'host-key':
        return hostKeys.learn(node, effect.key, origin);
    }
  }

  /** Resolves when what was noted is to be seen. */
  flush(): Promise<void> {
    return this.#services.status.flush();
  }

  async #audit(noderange: string, args: string, { user, client, command, run: request }: Origin): Promise<void> {
    const { store, audit } = this.#services;
    if (audit)
      await store.audit({ time: Date.now(), user, client, command, noderange, args, status: 'Allowed', request });
  }

  async #follow(node: string, from: string, to: string, origin: Origin): Promise<string> {
    try {
      return await followMove(this.#services.store, origin, node, from, to);
    } catch (error) {
      throw new Fault(
        'unavailable',
        `its service processor has moved to ${to}, but its attribute bmc could not be changed: set it to that.`,
        { cause: error },
      );
    }
  }
}

/**
 * A node's service processor has moved. If its attribute bmc was the old address, it becomes the new one, as the node's own value even
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
    sentence = `Its service processor has moved from ${from} to ${to}; ${because}`;
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
  if (isIP(value ?? '') === 0) return left(`is "${value}" and was left as it is: make sure that it leads to ${to}.`);
  if (value !== from) return left(`is ${value}, another address than the one that moved, and was left as it is.`);
  const instead =
    source === 'group'
      ? ` as its own value, instead of that of the group ${row}`
      : stored === value
        ? ''
        : ` instead of ${stored}`;
  return { follows: true, because: `its attribute bmc is ${to} now${instead}.` };
}
