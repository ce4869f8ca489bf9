import type { Effect } from '../core/effects.ts';
import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import type { Store } from '../database/store.ts';
import { keepIdentity } from './made-machine.ts';
import type { NodeStatus } from './node-status.ts';
import { followMove } from './service-processor-address.ts';
import type { ServiceProcessorTrust } from './service-processor-trust.ts';
import type { SshHostKeys } from './ssh-host-keys.ts';

export interface EffectServices {
  readonly store: Store;
  readonly status: NodeStatus;
  readonly certificates: Pick<ServiceProcessorTrust, 'learn'>;
  readonly hostKeys: Pick<SshHostKeys, 'learn'>;
}

/** Keeps what work on nodes has found and brought about. */
export class Effects {
  readonly #services: EffectServices;

  constructor(services: EffectServices) {
    this.#services = services;
  }

  /** A promise where the node's result has to wait for it; it may bring a sentence that belongs to the result. */
  apply(node: string, effect: Effect, origin: Origin): Promise<string | void> | undefined {
    const { status, certificates, hostKeys } = this.#services;
    switch (effect.kind) {
      case 'status':
        status.note(node, effect.status);
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
      case 'certificate':
        return certificates.learn(node, effect.fingerprint);
      case 'host-key':
        return hostKeys.learn(node, effect.key);
    }
  }

  /** Resolves when what was noted is to be seen. */
  flush(): Promise<void> {
    return this.#services.status.flush();
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
