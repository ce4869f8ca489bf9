import type { Workers } from '../bus/index.ts';
import type { Logger } from '../core/log.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Console, Devices, DeviceTarget } from '../drivers/index.ts';
import { workerFinder } from '../nodes/index.ts';
import { Carrier, type KeepsTrust } from './carrier.ts';

interface CarrierParts {
  readonly workers: Workers | undefined;
  readonly devices: Pick<Devices, 'held'>;
  readonly trust: KeepsTrust;
  readonly log: Logger;
}

/** Who opens the consoles of nodes: the first connected worker of a node's service nodes, else this server. */
export class Carriers {
  readonly #parts: CarrierParts;
  /** By worker. */
  readonly #carriers = new Map<string, Carrier>();
  /** Who was asked last for the console of a node; the empty name is this server. */
  readonly #askedFor = new Map<string, string>();

  constructor(parts: CarrierParts) {
    this.#parts = parts;
  }

  /** The console of a node, by whoever has to open it now. */
  console(snapshot: Snapshot, node: string, target: DeviceTarget): Console {
    const { workers, devices, trust, log } = this.#parts;
    const worker = target.staysHere || !workers || workers.isEmpty ? undefined : workerFinder(workers, snapshot)(node);
    if (target.staysHere) this.#askedFor.delete(node);
    else this.#askedFor.set(node, worker?.name ?? '');
    if (!worker) return devices.held(target, 'console', 'rcons');
    let carrier = this.#carriers.get(worker.name);
    if (!carrier || carrier.isOver) this.#carriers.set(worker.name, (carrier = new Carrier(worker, trust, log)));
    return carrier.console(node, target);
  }

  /** Nodes whose consoles others have to open now than those who were asked. */
  *misplaced(snapshot: Snapshot): Generator<string> {
    const { workers } = this.#parts;
    if (!workers) return;
    const find = workerFinder(workers, snapshot);
    for (const [node, asked] of this.#askedFor) if ((find(node)?.name ?? '') !== asked) yield node;
  }

  forget(node: string): void {
    this.#askedFor.delete(node);
  }

  /** Workers close what they have. */
  close(): void {
    for (const carrier of this.#carriers.values()) carrier.close();
    this.#carriers.clear();
    this.#askedFor.clear();
  }
}
