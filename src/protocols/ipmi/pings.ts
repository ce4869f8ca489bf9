import { type Abortable, unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { cancelled } from './faults.ts';
import { writePing } from './header.ts';
import type { Sleeper, TimerWheel } from './timer-wheel.ts';
import { type Transport, withoutZone } from './transport.ts';

interface Probe extends Sleeper, Abortable {
  end(ipmi: boolean): void;
}

/** When a ping is sent again, and when it is given up, in milliseconds after the first. */
const defaultPauses: readonly number[] = [500, 1_200, 2_000];

export class Pings {
  readonly #probes = new Map<string, Set<Probe>>();
  readonly #wheel: TimerWheel;
  readonly #pauses: readonly number[];
  #tag = 0;

  constructor(wheel: TimerWheel, pauses: readonly number[] = defaultPauses) {
    this.#wheel = wheel;
    this.#pauses = pauses;
  }

  readonly pong = (address: string, port: number, ipmi: boolean): void => {
    for (const probe of this.#probes.get(`${address} ${port}`) ?? []) probe.end(ipmi);
  };

  send(transport: Transport, address: string, port: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.reject(cancelled(address, signal));
    const key = `${withoutZone(address)} ${port}`;
    const startedAt = this.#wheel.now();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#wheel.set(probe, Number.POSITIVE_INFINITY);
        unwatchAbort(signal, probe);
        const all = this.#probes.get(key);
        all?.delete(probe);
        if (all?.size === 0) this.#probes.delete(key);
      };
      const end = (ipmi: boolean): void => {
        leave();
        resolve(ipmi);
      };
      const ask = (attempt: number): void => {
        const pause = this.#pauses[attempt];
        if (pause === undefined) return end(false);
        probe.awake = () => ask(attempt + 1);
        this.#wheel.set(probe, startedAt + pause);
        if (attempt === this.#pauses.length - 1 && attempt > 0) return;
        const packet = transport.packet();
        this.#tag = (this.#tag + 1) % 0xff;
        transport.send(packet, writePing(packet, this.#tag), address, port, (error) => error && end(false));
      };
      const aborted = (): void => {
        leave();
        reject(cancelled(address, signal));
      };
      const probe: Probe = {
        due: Number.POSITIVE_INFINITY,
        turn: Number.POSITIVE_INFINITY,
        awake: () => ask(0),
        aborted,
        end,
      };
      const all = this.#probes.get(key) ?? new Set();
      this.#probes.set(key, all.add(probe));
      watchAbort(signal, probe);
      ask(0);
    });
  }

  close(): void {
    for (const probes of this.#probes.values()) for (const probe of probes) probe.end(false);
  }
}
