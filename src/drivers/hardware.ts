import type { SecretBox } from '../access/secrets.ts';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import type { Capabilities, Driver, DriverTarget } from './capabilities.ts';
import { driverNode } from './driver-node.ts';
import type { Governor } from './governor.ts';

export type Outcome<T> =
  | { readonly node: string; readonly value: T }
  | { readonly node: string; readonly error: string; readonly kind?: 'deadline' | 'garbled' };

/** What a command wants of each node. */
export interface Work<K extends keyof Capabilities, T> {
  readonly command: string;
  readonly needs: K;
  readonly user: string;
  run(capability: NonNullable<Capabilities[K]>, node: string, signal: AbortSignal): Promise<T>;
}

/** What a node can do, and by which driver. */
interface Found {
  readonly driver: Driver;
  readonly target: DriverTarget;
  readonly capabilities: Capabilities;
}

const features: Readonly<Record<keyof Capabilities, string>> = {
  power: 'power control',
  vitals: 'sensors',
  inventory: 'inventory',
  eventLog: 'event log',
  nextBoot: 'choice of what boots next',
  bootSequence: 'boot order; nextboot chooses what boots next',
  beacon: 'identification light',
  energy: 'energy control',
  serviceProcessor: 'settings of the service processor',
  subnodes: 'nodes behind a node',
};

/** Nodes that are begun before others get a chance to work. */
const perTurn = 256;

/** Nodes as hardware: picks each node's driver and works on all of them at once. */
export class Hardware {
  readonly #drivers: ReadonlyMap<string, Driver>;
  readonly #governor: Governor;
  readonly #box: SecretBox;
  /** What was found for nodes, by what picks the driver: it holds as long as the snapshot. Opening secrets takes most of the time. */
  readonly #found = new WeakMap<EffectiveReader, { power: Map<string, Found>; other: Map<string, Found> }>();

  constructor(drivers: ReadonlyMap<string, Driver>, governor: Governor, box: SecretBox) {
    this.#drivers = drivers;
    this.#governor = governor;
    this.#box = box;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#drivers.values()].map((driver) => driver.close()));
  }

  /** Results as they come, one per node; no node waits for another. */
  async *each<K extends keyof Capabilities, T>(
    snapshot: Snapshot,
    nodes: readonly string[],
    work: Work<K, T>,
    signal: AbortSignal,
  ): AsyncIterable<Outcome<T>> {
    const reader = effectiveReader(snapshot);
    const known = this.#foundBy(reader, work);
    const finished: Outcome<T>[] = [];
    let broken: { error: unknown } | undefined;
    let wake: (() => void) | undefined;
    let begun = 0;
    let waiting = 0;
    let filling = false;
    let inTurn = 0;
    // What waits for the governor costs memory, so only so much does; what is begun makes room for the next.
    const fill = (): void => {
      if (filling) return;
      filling = true;
      while (begun < nodes.length && waiting < this.#governor.queue) {
        if (++inTurn > perTurn) {
          setImmediate(goOn);
          return;
        }
        waiting++;
        this.#one(reader, nodes[begun++]!, work, known, signal, started).then(finish, fail);
      }
      filling = false;
    };
    const goOn = (): void => {
      inTurn = 0;
      filling = false;
      fill();
    };
    const started = (): void => {
      waiting--;
      fill();
    };
    const finish = (outcome: Outcome<T>): void => {
      finished.push(outcome);
      wake?.();
    };
    const fail = (error: unknown): void => {
      broken = { error };
      wake?.();
    };
    fill();
    for (let told = 0; told < nodes.length; ) {
      if (finished.length === 0 && !broken) await new Promise<void>((resolve) => (wake = resolve));
      if (broken) throw broken.error;
      const batch = finished.splice(0);
      told += batch.length;
      yield* batch;
    }
  }

  async #one<K extends keyof Capabilities, T>(
    reader: EffectiveReader,
    node: string,
    work: Work<K, T>,
    known: Map<string, Found>,
    signal: AbortSignal,
    started: () => void,
  ): Promise<Outcome<T>> {
    let waits = true;
    const leave = (): void => {
      if (!waits) return;
      waits = false;
      started();
    };
    try {
      const { driver, target, capabilities } = known.get(node) ?? (await this.#find(reader, node, work, known));
      const capability = capabilities[work.needs];
      if (!capability) {
        const what = features[work.needs];
        throw new Fault('invalid', `${work.command} is not possible: mgt "${driver.name}" has no ${what}.`);
      }
      const begin = (): Promise<T> => {
        leave();
        return work.run(capability, node, signal);
      };
      const value = await this.#governor.run(target.device, work.user, signal, begin, target.width);
      return { node, value };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { kind, sentences } = error;
      return { node, error: oneText(sentences), ...(kind === 'deadline' || kind === 'garbled' ? { kind } : {}) };
    } finally {
      leave();
    }
  }

  #foundBy<K extends keyof Capabilities, T>(reader: EffectiveReader, { needs }: Work<K, T>): Map<string, Found> {
    let all = this.#found.get(reader);
    if (!all) this.#found.set(reader, (all = { power: new Map(), other: new Map() }));
    return needs === 'power' ? all.power : all.other;
  }

  async #find<K extends keyof Capabilities, T>(
    reader: EffectiveReader,
    node: string,
    work: Work<K, T>,
    known: Map<string, Found>,
  ): Promise<Found> {
    const driver = this.#driverOf(reader, node, work);
    const made = driver.target(driverNode(reader, this.#box, node, driver));
    const target = await made;
    const found = { driver, target, capabilities: driver.connect(target.access) };
    if (made === target) known.set(node, found);
    return found;
  }

  /** `nodehm.power` picks the driver for power before `mgt` does. */
  #driverOf<K extends keyof Capabilities, T>(
    reader: EffectiveReader,
    node: string,
    { needs, command }: Work<K, T>,
  ): Driver {
    const attributes = needs === 'power' ? ['power', 'mgt'] : ['mgt'];
    for (const attribute of attributes) {
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

/** They are written to follow the node's name; all but the first follow a full stop. */
const oneText = ([first = '', ...more]: readonly string[]): string =>
  [first, ...more.map((sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1))].join(' ');
