import type { SecretBox } from '../access/secrets.ts';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled, type Row, tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { patternProblem, patternsIn } from '../objects/substitution/index.ts';
import { attributeNamed, hasWord, isSecret, type Mapping, nodeType } from '../objects/types.ts';
import { type Capabilities, impossible, lacking } from './capabilities.ts';
import type { Driver, DriverNode, DriverTarget } from './driver.ts';
import type { DeviceTarget } from './devices.ts';
import type { RackPace } from './rack-pace.ts';

/** Nodes as hardware: picks each node's driver and has it make the node's target. */
export class Hardware {
  readonly #drivers: ReadonlyMap<string, Driver>;
  readonly #box: SecretBox;
  /** Targets of nodes, by what picks the driver: they hold as long as the snapshot. Opening secrets takes most of the time. */
  readonly #cache = new WeakMap<EffectiveReader, Record<Purpose, TargetCache>>();

  readonly #pace: Omit<RackPace, 'rack'> | undefined;

  /** `pace`: how fast machines of one rack are powered on; absent: as fast as may be. */
  constructor(drivers: ReadonlyMap<string, Driver>, box: SecretBox, pace?: Omit<RackPace, 'rack'>) {
    this.#drivers = drivers;
    this.#box = box;
    this.#pace = pace;
  }

  /** How fast the machines of a node's rack may be powered on. Undefined: nothing holds it up. */
  pacing(snapshot: Snapshot): (node: string) => RackPace | undefined {
    const pace = this.#pace;
    if (!pace) return () => undefined;
    const reader = effectiveReader(snapshot);
    return (node) => {
      const rack = nodeAttribute(reader, node, 'rack');
      return rack ? { rack, ...pace } : undefined;
    };
  }

  /** Whether the hardware of a node offers it. */
  offering(snapshot: Snapshot, capability: keyof Capabilities): (node: string) => boolean {
    const reader = effectiveReader(snapshot);
    return (node) => {
      const picked = usualPickers.map((attribute) => nodeAttribute(reader, node, attribute)).find(Boolean);
      return picked !== undefined && this.#drivers.get(picked)?.offers.includes(capability) === true;
    };
  }

  /**
   * Finds the target of a node for a command that needs the capability; a Fault says why there is none. With `instead` it is the target
   * that the node would have with these attributes.
   */
  targets(
    snapshot: Snapshot,
    command: string,
    needs: keyof Capabilities,
    instead?: Readonly<Record<string, string>>,
  ): (node: string) => DeviceTarget | Promise<DeviceTarget> {
    const reader = effectiveReader(snapshot);
    let caches = this.#cache.get(reader);
    if (!caches)
      this.#cache.set(
        reader,
        (caches = { power: new Map(), subnodes: new Map(), console: new Map(), other: new Map() }),
      );
    const purpose = purposeOf(needs);
    const cache = caches[purpose];
    const pickers = pickersOf[purpose] ?? usualPickers;
    return (node) => {
      const known = instead ? undefined : cache.get(node);
      const driver = known?.driver ?? this.#driverOf(reader, node, command, pickers);
      // Before its attributes are looked at: they are of no help with what the hardware has not.
      if (!driver.offers.includes(needs)) throw lacking(command, driver.name, needs);
      if (known) return typeof known.target === 'function' ? known.target() : known.target;
      const described = driverNode(reader, this.#box, node, driver);
      const read = instead ? { ...described, attributes: { ...described.attributes, ...instead } } : described;
      const made = driver.target(read, needs);
      const named = (target: DriverTarget): DeviceTarget => ({ driver: driver.name, ...target });
      if (made instanceof Promise) {
        if (!instead) cache.set(node, { driver, target: async () => named(await driver.target(read, needs)) });
        return made.then(named);
      }
      const target = named(made);
      if (!instead) cache.set(node, { driver, target });
      return target;
    };
  }

  /** Names of drivers. */
  get kinds(): readonly string[] {
    return [...this.#drivers.keys()];
  }

  #driverOf(reader: EffectiveReader, node: string, command: string, pickers: readonly string[]): Driver {
    for (const attribute of pickers) {
      const value = nodeAttribute(reader, node, attribute);
      if (value === undefined) continue;
      const driver = this.#drivers.get(value);
      if (driver) return driver;
      throw impossible(
        command,
        `${attribute} is "${value}", which is not one of ${[...this.#drivers.keys()].join(', ')}`,
      );
    }
    throw impossible(command, 'its attribute mgt is not set');
  }
}

/** What makes a difference to the target. */
type Purpose = 'power' | 'subnodes' | 'console' | 'other';

const purposeOf = (needs: keyof Capabilities): Purpose =>
  needs === 'power' || needs === 'subnodes' || needs === 'console' ? needs : 'other';

/** A target that depends on more than the definitions is made each time. */
type TargetCache = Map<
  string,
  { readonly driver: Driver; readonly target: DeviceTarget | (() => Promise<DeviceTarget>) }
>;

/** `nodehm.power` picks the driver for power before `mgt` does, and `nodehm.cons` that of the console. */
const pickersOf: Readonly<Partial<Record<Purpose, readonly string[]>>> = {
  power: ['power', 'mgt'],
  console: ['cons', 'mgt'],
};
const usualPickers = ['mgt'];

/** What a driver reads of a node, secrets opened. */
function driverNode(
  reader: EffectiveReader,
  box: SecretBox,
  name: string,
  driver: Pick<Driver, 'name' | 'attributes'>,
): DriverNode {
  const rows = new Map<string, Row | undefined>();
  const valueAt = ({ table, column, where }: Mapping): string | undefined => {
    if (where) return reader.row(tableNamed(table), name, where)?.[column];
    // Most attributes of a driver stand in one row, which takes long to make.
    if (!rows.has(table)) rows.set(table, reader.row(tableNamed(table), name));
    return rows.get(table)?.[column];
  };
  const first = (mappings: readonly Mapping[]): string | undefined => {
    for (const mapping of mappings) {
      const value = valueAt(mapping);
      if (value) return isSecret(mapping) ? box.open(value, `${mapping.table}.${mapping.column}`) : value;
    }
    return undefined;
  };
  // A broken pattern gives the node's own name, which is no address; one may have been stored before patterns were looked at.
  const checked = (attribute: string, mappings: readonly Mapping[]): string | undefined => {
    const value = first(mappings);
    for (const { table, column, where } of value === name ? mappings : []) {
      const stored = reader.explain(tableNamed(table), column, name, where)?.stored ?? '';
      const problem = patternsIn(table, stored).map(patternProblem).find(Boolean);
      if (problem !== undefined)
        throw new Fault('invalid', `its attribute ${attribute} comes from the pattern "${stored}": ${problem}.`);
    }
    return value;
  };
  const mgtHolds = ({ onlyIf }: Mapping): boolean =>
    !onlyIf || hasWord(nodeAttribute(reader, name, onlyIf[0]), onlyIf[1]);
  const attributes: Record<string, string | undefined> = {};
  for (const attribute of driver.attributes) {
    const at = mappingsOf(attribute);
    // As it is stored for this driver, else as `mgt` says: a driver may be picked by another attribute than `mgt`.
    attributes[attribute] =
      checked(
        attribute,
        at.filter(({ onlyIf }) => onlyIf?.[1] === driver.name),
      ) ?? checked(attribute, at.filter(mgtHolds));
  }
  return { name, attributes, account: (key, username) => accountOf(reader, box, key, username) };
}

function mappingsOf(attribute: string): readonly Mapping[] {
  const [table = '', column] = attribute.split('.');
  return column === undefined ? attributeNamed(nodeType, attribute).at : [{ table, column }];
}

function accountOf(
  { snapshot }: EffectiveReader,
  box: SecretBox,
  key: string,
  wanted: string | undefined,
): ReturnType<DriverNode['account']> {
  const rows = [...snapshot.rows('passwd').values()].filter((row) => row['key'] === key && isEnabled(row));
  const row = rows.find(({ username }) => username === wanted) ?? rows[0];
  if (!row) return undefined;
  const { username, password } = row;
  return {
    ...(username === undefined ? {} : { username }),
    ...(password ? { password: box.open(password, 'passwd.password') } : {}),
  };
}
