import { type Abortable, unwatchAbort, watchAbort } from '../core/waiting.ts';
import { Fault } from '../core/errors.ts';
import { type Capabilities, lacking } from './capabilities.ts';
import type { Driver, DriverTarget } from './driver.ts';
import type { DeviceLoad, Governor } from './governor.ts';
import { RackPaces } from './rack-pace.ts';

interface Reading extends Abortable {
  begin(): Promise<void>;
  fail(error: unknown): void;
}

type Group = Set<Reading>;

/**
 * Readings of one device by one user are one piece of work to the governor for as long as they wait for their turn: they begin
 * together, so that the driver can ask the device once for all. However many wait for a device that does not answer, they take one slot.
 */
export class JoinedReadings {
  readonly #governor: Governor;
  readonly #open = new Map<string, Group>();

  constructor(governor: Governor) {
    this.#governor = governor;
  }

  run<T>(target: DriverTarget, user: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise<T>((resolve, reject) => {
      const group = this.#groupOf(target, user);
      const reading: Reading = {
        begin: () => {
          unwatchAbort(signal, reading);
          const working = work();
          resolve(working);
          return working.then(() => undefined);
        },
        fail(error) {
          unwatchAbort(signal, reading);
          reject(error);
        },
        aborted() {
          group.delete(reading);
          reject(signal.reason);
        },
      };
      group.add(reading);
      watchAbort(signal, reading);
    });
  }

  #groupOf(target: DriverTarget, user: string): Group {
    const key = JSON.stringify([target.device, user]);
    let group = this.#open.get(key);
    if (!group) {
      const opened: Group = (group = new Set());
      this.#open.set(key, opened);
      // Those that are begun in the same turn of the event loop belong together.
      setImmediate(() => void this.#wait(target, user, key, opened));
    }
    return group;
  }

  async #wait({ device, width }: DriverTarget, user: string, key: string, group: Group): Promise<void> {
    const close = (): void => void this.#open.delete(key);
    const begin = (): Promise<void> => {
      close();
      return together(group);
    };
    try {
      await this.#governor.run(device, user, always, begin, width);
    } catch (error) {
      if (this.#open.get(key) === group) close();
      for (const reading of group) reading.fail(error);
    }
  }
}

/** Every reading of a group has its own signal. */
const always = new AbortController().signal;

/** Fails if none of them had an answer: the governor has to know of devices that give none. */
async function together(group: Group): Promise<void> {
  const outcomes = await Promise.allSettled([...group].map((reading) => reading.begin()));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure && outcomes.every(({ status }) => status === 'rejected')) throw failure.reason;
}

/** A node's target and the driver that has made it and takes it. */
export interface DeviceTarget extends DriverTarget {
  readonly driver: string;
}

/** Work on it that takes minutes does not keep others from it: the driver bounds how much of that there is at a time. */
export const atLength = (target: DeviceTarget): DeviceTarget => ({
  ...target,
  device: `${target.device}, at length`,
  width: lengthyWidth,
});
const lengthyWidth = 256;

export interface DeviceUser {
  readonly command: string;
  readonly user: string;
  readonly signal: AbortSignal;
  /** Called when its turn has come. */
  begun(): void;
  /** Waited for then, if it is there. */
  readonly goAhead?: (() => Promise<void>) | undefined;
}

/** The devices that this process works on, in the order that the governor allows. */
export class Devices {
  readonly #drivers: ReadonlyMap<string, Driver>;
  readonly #governor: Governor;
  readonly #readings: JoinedReadings;
  readonly #connected = new WeakMap<DeviceTarget, Capabilities>();
  /** Who may be powered on now. */
  readonly paces = new RackPaces();

  constructor(drivers: ReadonlyMap<string, Driver>, governor: Governor) {
    this.#drivers = drivers;
    this.#governor = governor;
    this.#readings = new JoinedReadings(governor);
  }

  /** How many nodes of one command may wait here. */
  get queue(): number {
    return this.#governor.queue;
  }

  get load(): DeviceLoad {
    return this.#governor.load;
  }

  /** By driver. */
  sessions(): (readonly [driver: string, sessions: number])[] {
    return [...this.#drivers].flatMap(([name, driver]) =>
      driver.sessions ? [[name, driver.sessions()] as const] : [],
    );
  }

  /** Works on a device by one of its capabilities, when its turn has come. What it cannot do at all is thrown at once. */
  use<K extends keyof Capabilities, T>(
    target: DeviceTarget,
    needs: K,
    by: DeviceUser,
    work: (capability: NonNullable<Capabilities[K]>) => Promise<T>,
  ): Promise<T> {
    const begin = this.#work(target, needs, by, work);
    return this.#governor.run(target.device, by.user, by.signal, begin, target.width);
  }

  /** The same for what changes nothing: readings of one device may be worked on together. */
  read<K extends keyof Capabilities, T>(
    target: DeviceTarget,
    needs: K,
    by: DeviceUser,
    work: (capability: NonNullable<Capabilities[K]>) => Promise<T>,
  ): Promise<T> {
    return target.joinsReadings ? this.useTogether(target, needs, by, work) : this.use(target, needs, by, work);
  }

  /** Where the driver does together what several want of one device: it counts as one command, and what waits for its turn begins together. */
  useTogether<K extends keyof Capabilities, T>(
    target: DeviceTarget,
    needs: K,
    by: DeviceUser,
    work: (capability: NonNullable<Capabilities[K]>) => Promise<T>,
  ): Promise<T> {
    return this.#readings.run(target, by.user, by.signal, this.#work(target, needs, by, work));
  }

  /** For what is held open: that is no command, so it waits for no turn and takes no slot. */
  held<K extends keyof Capabilities>(target: DeviceTarget, needs: K, command: string): NonNullable<Capabilities[K]> {
    const capability = this.#connect(target)[needs];
    if (!capability) throw lacking(command, target.driver, needs);
    return capability;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#drivers.values()].map((driver) => driver.close()));
  }

  #work<K extends keyof Capabilities, T>(
    target: DeviceTarget,
    needs: K,
    by: DeviceUser,
    work: (capability: NonNullable<Capabilities[K]>) => Promise<T>,
  ): () => Promise<T> {
    const capability = this.held(target, needs, by.command);
    return () => {
      by.begun();
      return by.goAhead ? by.goAhead().then(() => work(capability)) : work(capability);
    };
  }

  #connect(target: DeviceTarget): Capabilities {
    let capabilities = this.#connected.get(target);
    if (!capabilities) {
      const driver = this.#drivers.get(target.driver);
      if (!driver) throw new Fault('invalid', `muster has no driver "${target.driver}".`);
      this.#connected.set(target, (capabilities = driver.connect(target.access)));
    }
    return capabilities;
  }
}
