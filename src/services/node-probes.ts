import type { AddressGuard } from '../core/address-guard.ts';
import { Fault } from '../core/errors.ts';
import { Pinger } from '../protocols/probe/ping.ts';
import { PortProbe } from '../protocols/probe/ports.ts';
import type { Application } from './node-applications.ts';

/** Where an installer tells how far it is. */
const installerPort = 3_001;

export interface Sighting {
  readonly alive: boolean;
  /** Names of what answers, in order. */
  readonly applications: readonly string[];
}

/** Looks at nodes from outside: by ICMP first, and at ports only of those that answer. */
export class NodeProbes {
  readonly #pinger = new Pinger();
  readonly #ports = new PortProbe();
  readonly #guard: AddressGuard;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  async look(address: string, applications: readonly Application[], signal: AbortSignal): Promise<Sighting> {
    await this.#guard.admit(address);
    const pinged = await this.#pinger.ping(address, signal);
    if (pinged === false) return { alive: false, applications: [] };
    const states = await Promise.all(applications.map(({ port }) => this.#ports.state(address, port, signal)));
    // What was not asked any more has not been silent.
    if (signal.aborted) throw new Fault('invalid', 'the command was cancelled.');
    return {
      // Without ICMP a refusal is a sign of life as well.
      alive: pinged ?? states.some((state) => state !== 'silent'),
      applications: applications.flatMap(({ name }, i) => (states[i] === 'open' ? name : [])),
    };
  }

  /** What the installer on a node says of itself. */
  async installer(address: string, signal: AbortSignal): Promise<string | undefined> {
    const line = await this.#ports.ask(address, installerPort, 'stat ', signal);
    return line?.replaceAll(/[^\x20-\x7e]/g, '').trim() || undefined;
  }
}
