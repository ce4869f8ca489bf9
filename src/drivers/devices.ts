import { Fault } from '../core/errors.ts';
import type { Capabilities, Driver, DriverTarget } from './capabilities.ts';
import type { DeviceLoad, Governor } from './governor.ts';
import { JoinedReadings } from './joined-readings.ts';
import { lacking } from './lacking.ts';

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
  /** Told when its turn has come. */
  begun(): void;
}

/** The devices that this process works on, in the order that the governor allows. */
export class Devices {
  readonly #drivers: ReadonlyMap<string, Driver>;
  readonly #governor: Governor;
  readonly #readings: JoinedReadings;
  readonly #connected = new WeakMap<DeviceTarget, Capabilities>();

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
    if (!target.joinsReadings) return this.use(target, needs, by, work);
    return this.#readings.run(target, by.user, by.signal, this.#work(target, needs, by, work));
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
    const capability = this.#connect(target)[needs];
    if (!capability) throw lacking(by.command, target.driver, needs);
    return () => {
      by.begun();
      return work(capability);
    };
  }

  #connect(target: DeviceTarget): Capabilities {
    let capabilities = this.#connected.get(target);
    if (!capabilities) {
      const driver = this.#drivers.get(target.driver);
      if (!driver) throw new Fault('invalid', `there is no driver "${target.driver}" here.`);
      this.#connected.set(target, (capabilities = driver.connect(target.access)));
    }
    return capabilities;
  }
}
