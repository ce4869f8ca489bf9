import { Fault } from '../../core/errors.ts';
import { NamedSlots } from '../../core/slots.ts';
import { findDomain, followDomains, type LifecycleEvent } from '../../protocols/libvirt/calls/domains.ts';
import { openDriver } from '../../protocols/libvirt/calls/session.ts';
import { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import type { Domain } from '../../protocols/libvirt/domain.ts';
import { MachineStates } from './machine-states.ts';
import type { HypervisorRoutes } from './routes.ts';

const driverUri = 'qemu:///system';
/** Machines that are remembered: a hypervisor may tell of any number. */
const mostKnown = 50_000;

/** A hypervisor that is connected to, with the machines that are known there by name. */
export class Hypervisor {
  readonly host: string;
  /** Where it is; the same for all its names. */
  readonly place: string;
  readonly connection: LibvirtConnection;
  /** Work on a pool, one at a time: libvirt does not look at what is in a pool while something is being made there. */
  readonly pools = new NamedSlots(1);
  /** Work that changes what a machine is, one at a time. */
  readonly machines = new NamedSlots(1);
  /** Work that keeps the daemon busy for long, such as copying disks: calls of others have to get through. */
  readonly lengthy = new NamedSlots(2);
  /** Machines as they were seen last. */
  readonly known = new Map<string, Domain>();
  readonly states = new MachineStates(this);
  readonly #listeners = new Set<(event: LifecycleEvent) => void>();

  private constructor(host: string, place: string, connection: LibvirtConnection) {
    this.host = host;
    this.place = place;
    this.connection = connection;
  }

  static async open(routes: HypervisorRoutes, host: string, route: unknown, signal: AbortSignal): Promise<Hypervisor> {
    const connection = new LibvirtConnection(await routes.open(route, signal), { where: host });
    const hypervisor = new Hypervisor(host, routes.placeOf(route), connection);
    try {
      await openDriver(connection, driverUri, { signal });
      await followDomains(connection, (event) => hypervisor.#heard(event), { signal });
    } catch (error) {
      connection.close();
      throw error;
    }
    return hypervisor;
  }

  /** Has all that happens to its machines told, until what is returned is called. */
  listen(listener: (event: LifecycleEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #heard(event: LifecycleEvent): void {
    this.known.delete(event.domain.name);
    for (const listener of this.#listeners) listener(event);
  }

  remember(domain: Domain): void {
    if (this.known.size >= mostKnown) this.known.clear();
    this.known.set(domain.name, domain);
  }

  /** Looked up once; what happens to a machine makes it be looked up again. */
  async find(name: string, signal: AbortSignal): Promise<Domain | undefined> {
    const known = this.known.get(name);
    if (known) return known;
    const found = await findDomain(this.connection, { name }, { signal });
    if (found) this.remember(found);
    return found;
  }

  lacks(name: string): never {
    throw new Fault('invalid', `there is no virtual machine ${name} on ${this.host}.`);
  }

  async machine(name: string, signal: AbortSignal): Promise<Domain> {
    const found = await this.find(name, signal);
    return found ?? this.lacks(name);
  }
}
