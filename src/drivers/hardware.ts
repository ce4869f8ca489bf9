import type { SecretBox } from '../access/secrets.ts';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import type { Capabilities, Driver } from './capabilities.ts';
import type { DeviceTarget } from './devices.ts';
import { driverNode } from './driver-node.ts';

/** Nodes as hardware: picks each node's driver and has it make the node's target. */
export class Hardware {
  readonly #drivers: ReadonlyMap<string, Driver>;
  readonly #box: SecretBox;
  /** Targets of nodes, by what picks the driver: they hold as long as the snapshot. Opening secrets takes most of the time. */
  readonly #cache = new WeakMap<EffectiveReader, { power: TargetCache; other: TargetCache }>();

  constructor(drivers: ReadonlyMap<string, Driver>, box: SecretBox) {
    this.#drivers = drivers;
    this.#box = box;
  }

  /** Finds the target of a node for a command that needs the capability; a Fault says why there is none. */
  targets(
    snapshot: Snapshot,
    command: string,
    needs: keyof Capabilities,
  ): (node: string) => DeviceTarget | Promise<DeviceTarget> {
    const reader = effectiveReader(snapshot);
    let caches = this.#cache.get(reader);
    if (!caches) this.#cache.set(reader, (caches = { power: new Map(), other: new Map() }));
    const [cache, pickers] = needs === 'power' ? [caches.power, powerPickers] : [caches.other, usualPickers];
    return (node) => {
      const known = cache.get(node);
      if (known) return known;
      const driver = this.#driverOf(reader, node, command, pickers);
      const made = driver.target(driverNode(reader, this.#box, node, driver));
      if (made instanceof Promise) return made.then((target) => ({ driver: driver.name, ...target }));
      const target = { driver: driver.name, ...made };
      cache.set(node, target);
      return target;
    };
  }

  #driverOf(reader: EffectiveReader, node: string, command: string, pickers: readonly string[]): Driver {
    for (const attribute of pickers) {
      const value = nodeAttribute(reader, node, attribute);
      if (value === undefined) continue;
      const driver = this.#drivers.get(value);
      if (driver) return driver;
      throw new Fault(
        'invalid',
        `${command} is not possible: ${attribute} is "${value}", and known are ${[...this.#drivers.keys()].join(', ')}.`,
      );
    }
    throw new Fault('invalid', `${command} is not possible: its attribute mgt is not set.`);
  }
}

type TargetCache = Map<string, DeviceTarget>;

/** `nodehm.power` picks the driver for power before `mgt` does. */
const powerPickers = ['power', 'mgt'];
const usualPickers = ['mgt'];
