import type { AddressGuard } from '../core/address-guard.ts';
import { Pinger } from '../protocols/probe/ping.ts';
import { PortProbe } from '../protocols/probe/ports.ts';

/** What runs on a node is known by the port it listens on. */
const applications: readonly (readonly [name: string, port: number])[] = [
  ['https', 443],
  ['msrpc', 135],
  ['pbs', 15_002],
  ['rdp', 3_389],
  ['sshd', 22],
  ['xend', 8_002],
];
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

  async look(address: string, signal: AbortSignal): Promise<Sighting> {
    await this.#guard.admit(address);
    const pinged = await this.#pinger.ping(address);
    if (pinged === false || signal.aborted) return { alive: false, applications: [] };
    const states = await Promise.all(applications.map(([, port]) => this.#ports.state(address, port, signal)));
    return {
      // Without ICMP a refusal is a sign of life as well.
      alive: pinged ?? states.some((state) => state !== 'silent'),
      applications: applications.flatMap(([name], i) => (states[i] === 'open' ? name : [])),
    };
  }

  /** What the installer on a node says of itself. */
  async installer(address: string, signal: AbortSignal): Promise<string | undefined> {
    const line = await this.#ports.ask(address, installerPort, 'stat ', signal);
    return line?.replaceAll(/[^\x20-\x7e]/g, '').trim() || undefined;
  }
}

/** Each application as up or down, as `appstatus` keeps it. */
export const applicationStatus = (running: readonly string[]): string =>
  applications.map(([name]) => `${name}=${running.includes(name) ? 'up' : 'down'}`).join(',');
