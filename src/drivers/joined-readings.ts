import { type Abortable, unwatchAbort, watchAbort } from '../core/aborts.ts';
import type { DriverTarget } from './capabilities.ts';
import type { Governor } from './governor.ts';

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
