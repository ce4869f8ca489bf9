import { Fault } from '../core/errors.ts';
import type { HardwareNews } from '../core/event-kinds.ts';
import { noPlugin } from '../core/plugin-tables.ts';
import type { Accounts } from './accounts.ts';
import type { Certificates } from './certificates.ts';
import type { Bios } from './bios.ts';
import type { Console } from './console.ts';
import type { Posture } from './posture.ts';
import type { Firmware } from './firmware.ts';
import type { VirtualMedia } from './media.ts';

/**
 * What hardware can do, one small interface each. A driver offers those its hardware has. Every call is about one node, ends
 * when its signal is aborted, and throws a Fault whose sentence makes sense after "<node>: ".
 */

/** Label and value as the reference system prints them, in the order of the hardware. Lines without a label are under `Message`. */
export type Labelled = Readonly<Record<string, string | readonly string[]>>;

export type PowerAction = 'on' | 'off' | 'softoff' | 'reset' | 'boot' | 'cycle' | 'nmi' | 'wake' | 'suspend';

export interface Power {
  /** The state now, `on` or `off` or a word of the hardware's own; never a remembered one. */
  state(signal: AbortSignal): Promise<string>;
  /**
   * Resolves with the state when the wanted one has been seen. `on` when on and `off` when off send nothing. `reset` and `cycle`
   * when off send nothing and succeed; `boot` is reset when on, on when off. A state-changing command is never sent twice
   * without reading the state in between. An action the hardware has not is a Fault that lists those it has. `from` gets the
   * state it began with, and is waited for before anything is sent.
   */
  set(action: PowerAction, signal: AbortSignal, from?: PowerSeen): Promise<string>;
  /** The BMC itself; absent where it does not matter to users. */
  readonly controller?: Controller;
  /** The chassis, slot or sled that it is in; absent where the hardware knows of none. */
  readonly chassis?: ChassisPower;
}

export type ChassisAction = 'on' | 'off' | 'reset';

export interface ChassisState {
  readonly id: string;
  /** `on`, `off`, or `unknown` if it is not reported. */
  readonly power: string;
}

/** A machine in a chassis, and what it may be called by. */
export interface ChassisMember {
  readonly id: string;
  readonly names: readonly string[];
}

export interface ChassisContents extends ChassisState {
  /** The machines that lose power with it, besides the node's own. */
  readonly others: readonly ChassisMember[];
}

export type ChassisSeen = (contents: ChassisContents) => Promise<void> | void;

export interface ChassisPower {
  state(signal: AbortSignal): Promise<ChassisState>;
  /**
   * Resolves when the wanted state has been seen, or when the order was taken if it is not reported. `before` gets all that it would
   * switch, and is waited for before anything is sent. An order is sent once.
   */
  set(action: ChassisAction, before: ChassisSeen, signal: AbortSignal): Promise<ChassisState>;
}

export type PowerSeen = (state: string) => Promise<void> | void;

export interface Controller {
  /** `BMC Ready` or `BMC NotReady`; one that does not answer is not ready. */
  state(signal: AbortSignal): Promise<string>;
  /** Restarts it. Resolves with `BMC reboot` when it has taken the order, and then it is away for a while. */
  restart(signal: AbortSignal): Promise<string>;
}

export const vitalsKinds = [
  'temp',
  'voltage',
  'wattage',
  'fanspeed',
  'power',
  'leds',
  'chassis',
  'energy',
  'altitude',
  'current',
  'other',
] as const;
export type VitalsKind = (typeof vitalsKinds)[number];

export interface Vitals {
  /** The readings of these kinds; all if none is named. */
  read(kinds: readonly VitalsKind[], signal: AbortSignal): Promise<Labelled>;
  /** The limits of sensors of these kinds, under the labels of `read`. Absent: they are not known. */
  limits?(kinds: readonly VitalsKind[], signal: AbortSignal): Promise<Readonly<Record<string, SensorLimits>>>;
}

/** Values beyond which a sensor shows that something is wrong, in its unit. */
export interface SensorLimits {
  readonly upperWarning?: number;
  readonly upperCritical?: number;
  readonly lowerWarning?: number;
  readonly lowerCritical?: number;
}

export const inventoryKinds = [
  'model',
  'serial',
  'asset',
  'vpd',
  'deviceid',
  'guid',
  'uuid',
  'firm',
  'dimm',
  'cpu',
  'pci',
  'mprom',
  'misc',
  'hw',
  'mac',
  'gpu',
] as const;
export type InventoryKind = (typeof inventoryKinds)[number];

export interface Inventory {
  read(kinds: readonly InventoryKind[], signal: AbortSignal): Promise<Labelled>;
}

export interface EventLog {
  /** Its entries, oldest first, one line each: so many of the newest, or all. */
  read(signal: AbortSignal, newest?: number): Promise<readonly string[]>;
  /** Resolves when the log has been seen empty. */
  clear(signal: AbortSignal): Promise<void>;
}

export type ReportedEvent = Pick<HardwareNews, 'severity' | 'message'>;

/** What a BMC is to send its events to; `isOwn` tells destinations of muster from those of others, which stay as they are. */
export interface EventReceiver {
  readonly destination: string;
  readonly context: string;
  isOwn(destination: string): boolean;
}

export interface HardwareEvents {
  /**
   * Follows events as they come, until the signal. Resolves when they have begun, with when they end and what ended them; undefined if
   * the BMC has no stream of them.
   */
  follow(
    take: (events: readonly ReportedEvent[]) => void,
    signal: AbortSignal,
  ): Promise<{ readonly ended: Promise<Error | undefined> } | undefined>;
  /** Has the BMC send its events there: one subscription, found again if it is there already. `none`: it has no subscriptions. */
  subscribe(receiver: EventReceiver, signal: AbortSignal): Promise<'made' | 'kept' | 'none'>;
  /** Ends the subscriptions of muster. */
  unsubscribe(isOwn: EventReceiver['isOwn'], signal: AbortSignal): Promise<void>;
}

export type BootOrder = 'net' | 'hd' | 'cd' | 'floppy' | 'def' | 'setup';

export interface NextBoot {
  /** `Network`, `Hard Drive`, `CD/DVD`, `Floppy`, `BIOS Setup`, `BIOS default` or `boot override inactive`. */
  get(signal: AbortSignal): Promise<string>;
  /** For the next boot only unless `persistent`; `def` takes an override back. Resolves with what is read back. */
  set(
    order: BootOrder,
    options: { persistent: boolean; mode: 'uefi' | 'legacy' | undefined },
    signal: AbortSignal,
  ): Promise<string>;
}

export interface BootSequence {
  /** What the hardware tries to boot from, first things first, under the hardware's own names. */
  get(signal: AbortSignal): Promise<readonly string[]>;
  /** For good. What is named comes first, the rest behind it as before. */
  set(order: readonly string[], signal: AbortSignal): Promise<void>;
}

export interface Beacon {
  /** Absent if the hardware does not report it. */
  state?(signal: AbortSignal): Promise<string>;
  set(action: 'on' | 'off' | 'blink', signal: AbortSignal): Promise<void>;
}

export interface Energy {
  /** The named attributes (cappingmin, cappingmax, cappingmaxmin, cappingstatus, cappingvalue, averageAC ...); all if none is named. */
  read(attributes: readonly string[], signal: AbortSignal): Promise<Labelled>;
  /** cappingstatus on|off, cappingvalue in watts or percent of the range; bounds are checked before the hardware is asked. */
  set(attribute: string, value: string, signal: AbortSignal): Promise<void>;
}

export interface ServiceProcessor {
  get(attribute: string, signal: AbortSignal): Promise<Labelled>;
  /**
   * All settings of one call together. One that moves the address verifies the new one. Resolves with what the user has to do now; a
   * BMC that takes on its new address later shows the one that it has now as `BMC IP`.
   */
  set(settings: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Labelled | void>;
}

export interface Subnodes {
  /** The nodes behind a chassis or management module, by name, with their attributes. */
  list(signal: AbortSignal): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>>;
  /** They are machines of their own and no parts of the node: who may run a command on it may not know of all of them. */
  readonly areMachines?: boolean;
}

/** A master whose disks stay as they are, whatever is asked for. */
export interface KeptMaster {
  readonly name: string;
}

/** The machine of a node that may have been one before. */
interface MachineIdentity {
  /** Undefined: muster knows of none. */
  readonly uuid?: string | undefined;
  /** The hypervisor that muster last made it on, or moved it to. */
  readonly lastHost?: string | undefined;
}

export interface MachineRequest extends MachineIdentity {
  /** Undefined: as the attributes say. */
  readonly cpus?: string | undefined;
  readonly memory?: string | undefined;
  /** Sizes of disks to make. */
  readonly disks: readonly string[];
  /** Disks that are in the way are replaced, and hypervisors that do not answer are not waited for. */
  readonly force: boolean;
  readonly masters: readonly KeptMaster[];
  /** Hears of what muster may not have made, before it is removed. */
  readonly removing?: ((what: string) => void) | undefined;
}

export interface MachineRemoval extends Pick<MachineIdentity, 'uuid'> {
  readonly purge: boolean;
  readonly force: boolean;
  readonly masters: readonly KeptMaster[];
  /** Hears of what muster has not made, before it is removed. */
  readonly removing?: ((what: string) => void) | undefined;
}

export interface MadeMachine {
  readonly uuid: string;
  /** What the attribute mac is to be, if addresses had to be made. */
  readonly mac?: string | undefined;
}

export interface MachineChange extends Pick<MachineIdentity, 'uuid'> {
  /** Undefined: as it is. */
  readonly cpus?: string | undefined;
  readonly memory?: string | undefined;
  /** Sizes of disks to make. */
  readonly add: readonly string[];
  /** Devices of disks to delete. */
  readonly purge: readonly string[];
  /** Devices of disks that it loses, and that stay. */
  readonly detach: readonly string[];
  /** Devices with their new sizes, `vdb=20G`. */
  readonly resize: readonly string[];
  /** Disks that are in the way are replaced, and disks that were not made for it deleted. */
  readonly force: boolean;
  readonly masters: readonly KeptMaster[];
  /** Hears of what muster may not have made, before it is removed. */
  readonly removing?: ((what: string) => void) | undefined;
}

export interface ChangedMachine {
  /** Paths of disks that it has no longer, deleted or not. */
  readonly lost: readonly string[];
}

/** Called while something takes long, with a sentence for whoever watches. */
export type Progress = (sentence: string) => void;

/** A machine's disks, copied, to make others from. */
export interface Master extends KeptMaster {
  /** Where its disks are, as vmstorage says it. */
  readonly storage: string;
  readonly storageModel?: string | undefined;
  /** The definition of the machine that it was made from, in the driver's own form. */
  readonly definition?: string | undefined;
}

export interface MasterRequest {
  readonly name: string;
  /** Also of a machine that runs, as its disks are in one moment. */
  readonly force: boolean;
  /** Disks that are in the way are replaced. `denied`: this is wanted, but whosever they are, the caller may not. */
  readonly replace: boolean | 'denied';
  /** Hears of what muster may not have made, before it is removed. */
  readonly removing?: ((what: string) => void) | undefined;
}

export interface CloneRequest extends MachineIdentity {
  readonly master: Master;
  /** The disks are whole, and not based on those of the master. */
  readonly detach: boolean;
  /** Disks that are in the way are replaced, and hypervisors that do not answer are not waited for. */
  readonly force: boolean;
  readonly masters: readonly KeptMaster[];
  /** Hears of what muster may not have made, before it is removed. */
  readonly removing?: ((what: string) => void) | undefined;
}

export interface Migrated {
  /** False: it was there already. */
  readonly hasMoved: boolean;
  readonly said: string;
}

export interface VirtualMachine {
  /**
   * Moves it to where `to`, the access of another target of the node, says; as it runs, if it does. Disks are copied unless both places
   * have the same. A failure leaves it where it was.
   */
  migrate(to: unknown, tell: Progress, signal: AbortSignal): Promise<Migrated>;
  /** Copies the disks, whole. A failure leaves nothing behind. */
  makeMaster(
    request: MasterRequest,
    tell: Progress,
    signal: AbortSignal,
  ): Promise<Master & { readonly message: string }>;
  /** Defines the machine with the disks of a master, switched off. A failure leaves nothing behind. */
  clone(
    request: CloneRequest,
    tell: Progress,
    signal: AbortSignal,
  ): Promise<MadeMachine & { readonly message: string }>;
  /** All of it or nothing. One that runs goes on running; what it and its guest cannot do meanwhile is a Fault. */
  change(request: MachineChange, signal: AbortSignal): Promise<ChangedMachine>;
  /** Defines the machine, switched off. A failure leaves nothing behind. */
  create(request: MachineRequest, signal: AbortSignal): Promise<MadeMachine>;
  /** One that runs, or that was made by somebody else, only with `force`; its disks only with `purge`. */
  remove(request: MachineRemoval, signal: AbortSignal): Promise<void>;
}

/** What of a PDU feeds something. */
export interface Outlet {
  /** As definitions name it: its number, with that of the unit where several are linked. */
  readonly id: string;
  readonly name?: string | undefined;
  /** `on`, `off` or a word of the hardware's own. */
  readonly state: string;
  readonly watts?: number | undefined;
  readonly amps?: number | undefined;
  readonly wattHours?: number | undefined;
}

export interface Outlets {
  /** All as they are now; with `readings` also their names and what they draw, which takes longer. */
  list(readings: boolean, signal: AbortSignal): Promise<readonly Outlet[]>;
  /**
   * Resolves when they have been seen in that state. One that is not there, or cannot be switched, is a Fault before anything is sent. An
   * order is never sent twice without reading the state in between.
   */
  set(outlets: readonly string[] | 'all', to: 'on' | 'off', signal: AbortSignal): Promise<readonly Outlet[]>;
  /** Milliseconds that a reset leaves them off. */
  readonly resetPause: number;
}

/** Those that are meant; one that is not there is a Fault. */
export function outletsNamed<T extends Pick<Outlet, 'id'>>(
  all: readonly T[],
  ids: readonly string[] | 'all',
): readonly T[] {
  if (ids === 'all') return all;
  return ids.map((id) => {
    const found = all.find((outlet) => outlet.id === id);
    if (found) return found;
    const known = all.length === 0 ? 'it has none' : `it has ${all[0]!.id} to ${all.at(-1)!.id}`;
    throw new Fault('invalid', `it has no outlet ${id}; ${known}.`);
  });
}

export interface SnapshotInfo {
  /** As ISO 8601 has it. */
  readonly created: string;
  /** `on`, `off` or a word of the hardware's own: what the machine did then. */
  readonly power: string;
  /** The one that it follows. */
  readonly parent?: string | undefined;
  readonly description?: string | undefined;
}

export interface Snapshots {
  /** Oldest first. */
  list(signal: AbortSignal): Promise<readonly string[]>;
  show(name: string, signal: AbortSignal): Promise<SnapshotInfo>;
  /** Of its disks and, if it runs, of its memory. */
  create(name: string, description: string | undefined, signal: AbortSignal): Promise<void>;
  /** What has changed since is lost. */
  revert(name: string, signal: AbortSignal): Promise<void>;
  remove(name: string, signal: AbortSignal): Promise<void>;
}

export interface Capabilities {
  readonly snapshots?: Snapshots;
  readonly virtualMachine?: VirtualMachine;
  readonly power?: Power;
  readonly vitals?: Vitals;
  readonly inventory?: Inventory;
  readonly eventLog?: EventLog;
  readonly hardwareEvents?: HardwareEvents;
  readonly nextBoot?: NextBoot;
  readonly bootSequence?: BootSequence;
  readonly beacon?: Beacon;
  readonly energy?: Energy;
  readonly serviceProcessor?: ServiceProcessor;
  readonly subnodes?: Subnodes;
  readonly console?: Console;
  readonly accounts?: Accounts;
  readonly certificates?: Certificates;
  readonly bios?: Bios;
  readonly outlets?: Outlets;
  readonly posture?: Posture;
  readonly firmware?: Firmware;
  readonly media?: VirtualMedia;
}

/** Those that a driver says it offers. */
export type Offered<Names extends readonly (keyof Capabilities)[]> = Required<Pick<Capabilities, Names[number]>>;

const features: Readonly<Record<keyof Capabilities, string>> = {
  power: 'power control',
  vitals: 'sensors',
  inventory: 'inventory',
  eventLog: 'event log',
  hardwareEvents: 'events',
  nextBoot: 'choice of what boots next',
  bootSequence: 'boot order; PUT /nodes/NODE/nextboot {"order":"net"} chooses what boots next',
  beacon: 'identification light',
  energy: 'energy control',
  serviceProcessor: 'settings of the BMC',
  subnodes: 'nodes behind a node',
  virtualMachine: 'virtual machine',
  snapshots: 'snapshots',
  console: 'serial console',
  accounts: 'accounts of the BMC',
  certificates: 'certificates of the BMC that muster could replace',
  bios: 'settings of the BIOS; only Redfish has them',
  outlets: 'outlets of a PDU',
  posture: 'BMC whose protection could be looked at',
  firmware: 'update of firmware; use its web page or the program of its vendor',
  media: 'virtual media; only Redfish has them',
};

/** No driver does the command for a node. */
export const impossible = (command: string, why: string): Fault =>
  new Fault('invalid', `${command} is not possible: ${why}.`, {
    reference: [noPlugin(command)],
  });

/** A kind of hardware has not what a command needs. */
export const lacking = (command: string, driver: string, needs: keyof Capabilities): Fault =>
  impossible(command, `mgt "${driver}" has no ${features[needs]}`);

/** The kinds that are asked for; none is named where all are meant. One that is not known is refused. */
export function kindsIn<Kind extends string>(
  what: string,
  known: readonly Kind[],
  asked: readonly string[],
): readonly Kind[] {
  const unknown = asked.find((kind) => kind !== 'all' && !known.includes(kind as Kind));
  if (unknown !== undefined)
    throw new Fault('invalid', `"${unknown}" is not a kind of ${what}; use all, ${known.join(', ')}.`);
  return asked.includes('all') ? [] : (asked as readonly Kind[]);
}
