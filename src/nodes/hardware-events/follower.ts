import { Fault, Unreachable } from '../../core/errors.ts';
import type { HardwareNews } from '../../core/event-kinds.ts';
import { limiter } from '../../core/limiter.ts';
import type { Logger } from '../../core/log.ts';
import { pause } from '../../core/waiting.ts';
import type { Devices, DeviceTarget, EventReceiver, ReportedEvent } from '../../drivers/index.ts';
import { NewLines } from './log-lines.ts';

export type Way = 'stream' | 'push' | 'log' | 'none';

export interface FollowServices {
  readonly devices: Pick<Devices, 'use' | 'read'>;
  readonly log: Pick<Logger, 'debug'>;
  /** Milliseconds. */
  readonly interval: number;
  /** Where BMCs can send events to, if they can. */
  receiverOf?(device: string): EventReceiver;
  report(source: HardwareNews['source'], events: readonly ReportedEvent[]): void;
}

const first = 5_000;
const longest = 300_000;
/** Milliseconds after which a BMC that had no stream is asked again: it may have got new firmware, or a place is free again. */
const askAgain = 3_600_000;
/** A stream that has lasted so long was a good one. */
const goodStream = 60_000;
/** Entries of a log that are looked at. */
const newest = 50;
/** BMCs that are asked at a time. */
const atOnce = limiter(128);

const giveUp = (): Fault => new Fault('unavailable', 'its events are not followed any more.');

/** Follows the events of one BMC in the best way that it has: its stream, what it sends by itself, or else its event log. */
export class Follower {
  readonly #target: DeviceTarget;
  readonly #services: FollowServices;
  readonly #over = new AbortController();
  readonly #lines = new NewLines();
  #streamless = 0;
  #failures = 0;
  #way: Way = 'none';
  #isSubscribed = false;

  constructor(target: DeviceTarget, services: FollowServices) {
    this.#target = target;
    this.#services = services;
    void this.#run();
  }

  get way(): Way {
    return this.#way;
  }

  /** With `isGone` the BMC no longer belongs to a node: its subscription is ended. */
  end(isGone: boolean): void {
    this.#over.abort(giveUp());
    const receiver = this.#services.receiverOf?.(this.#target.device);
    if (!isGone || !receiver || !this.#isSubscribed) return;
    const { devices, log } = this.#services;
    devices
      .use(this.#target, 'hardwareEvents', this.#by(AbortSignal.timeout(longest)), (events) =>
        events.unsubscribe((destination) => destination === receiver.destination, AbortSignal.timeout(longest)),
      )
      .catch((error: unknown) => log.debug({ err: error }, 'a subscription to events could not be ended'));
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    // Thousands that begin together are asked one after the other.
    while (!signal.aborted) {
      let wait: number;
      try {
        wait = await this.#turn(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#way = 'none';
        this.#services.log.debug({ err: error, device: this.#target.device }, 'events of a BMC could not be followed');
        wait = Math.min(longest, first * 2 ** Math.min(this.#failures++, 10));
      }
      await pause(wait * (0.8 + 0.4 * Math.random()), signal, giveUp).catch(() => undefined);
    }
  }

  /** Resolves with the milliseconds to wait. */
  async #turn(signal: AbortSignal): Promise<number> {
    const { interval } = this.#services;
    if (performance.now() >= this.#streamless) {
      const stream = await atOnce(() => this.#stream(signal));
      if (stream) return this.#follow(stream);
      this.#streamless = performance.now() + askAgain;
    }
    if (await atOnce(() => this.#subscribe(signal))) {
      this.#way = 'push';
      this.#lines.forget();
    } else {
      await atOnce(() => this.#readLog(signal));
      this.#way = 'log';
    }
    this.#failures = 0;
    return interval;
  }

  /** What cannot be reached has no other way either; whatever else is wrong with the stream, there may be another way. */
  async #stream(signal: AbortSignal): Promise<{ readonly ended: Promise<Error | undefined> } | undefined> {
    const { devices, report } = this.#services;
    try {
      return await devices.use(this.#target, 'hardwareEvents', this.#by(signal), (events) =>
        events.follow((some) => report('stream', some), signal),
      );
    } catch (error) {
      if (error instanceof Unreachable || signal.aborted || !(error instanceof Fault)) throw error;
      return undefined;
    }
  }

  async #follow(stream: { readonly ended: Promise<Error | undefined> }): Promise<number> {
    const began = performance.now();
    this.#way = 'stream';
    this.#lines.forget();
    const error = await stream.ended;
    this.#way = 'none';
    if (performance.now() - began >= goodStream) this.#failures = 0;
    // One that sends too much, or nonsense, is left for a while.
    const isHostile = error instanceof Fault && error.kind === 'garbled';
    if (isHostile) this.#streamless = performance.now() + askAgain;
    return isHostile ? 0 : Math.min(longest, first * 2 ** Math.min(this.#failures++, 10));
  }

  async #subscribe(signal: AbortSignal): Promise<boolean> {
    const receiver = this.#services.receiverOf?.(this.#target.device);
    if (!receiver) return false;
    const { devices, log } = this.#services;
    try {
      const outcome = await devices.use(this.#target, 'hardwareEvents', this.#by(signal), (events) =>
        events.subscribe(receiver, signal),
      );
      return (this.#isSubscribed = outcome !== 'none');
    } catch (error) {
      if (error instanceof Unreachable || signal.aborted || !(error instanceof Fault)) throw error;
      log.debug({ err: error, device: this.#target.device }, 'a BMC takes no subscription');
      return false;
    }
  }

  async #readLog(signal: AbortSignal): Promise<void> {
    const { devices, report } = this.#services;
    const lines = await devices.read(this.#target, 'eventLog', this.#by(signal), (log) => log.read(signal, newest));
    const events = this.#lines.add(lines);
    if (events.length > 0) report('log', events);
  }

  #by(signal: AbortSignal): Parameters<Devices['use']>[2] {
    return { command: 'events', user: '', signal, begun: () => undefined };
  }
}
