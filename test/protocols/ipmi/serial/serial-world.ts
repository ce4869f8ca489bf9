import type { Fault } from '../../../../src/core/errors.ts';
import { type SerialConsole, SerialOpening, type SerialPast } from '../../../../src/protocols/ipmi/serial-console.ts';
import type { Timing } from '../../../../src/protocols/ipmi/peer.ts';
import { LightSerial } from '../../../lab/light-bmc/serial.ts';
import { World } from '../world.ts';

/** A BMC with a serial port, and a console that is opened at it. */
export class SerialWorld extends World {
  readonly serial: LightSerial;
  /** What the console has shown. */
  shown = '';
  closed: (Fault | undefined)[] = [];
  ended = 0;
  console: SerialConsole | undefined;
  failure: Fault | undefined;
  past: SerialPast = { lost: undefined };

  constructor(timing: Partial<Timing> = {}) {
    super({}, timing);
    this.serial = new LightSerial(
      (packet) => this.reply(packet),
      () => this.time,
    );
    this.bmc.serial = this.serial;
    this.every(50, () => this.serial.tick());
  }

  /** Begins to open it; time has to pass for it. */
  open(takeOver = false, signal = new AbortController().signal): void {
    this.console = this.failure = undefined;
    const options = {
      takeOver,
      output: (characters: Uint8Array) => void (this.shown += Buffer.from(characters).toString('latin1')),
      closed: (reason?: Fault) => void this.closed.push(reason),
    };
    const opening = new SerialOpening(this.peer, options, this.past, () => this.ended++);
    this.talker = opening.talker;
    opening.open(signal).then(
      (console) => (this.console = console),
      (fault: Fault) => (this.failure = fault),
    );
  }

  async opened(takeOver = false): Promise<SerialConsole> {
    this.open(takeOver);
    await this.run(2_000);
    if (!this.console) throw this.failure ?? new Error('The console is not open.');
    return this.console;
  }
}

/** What became of a promise, once time has passed. */
export function watched<T>(promise: Promise<T>): { done?: boolean; fault?: Fault } {
  const outcome: { done?: boolean; fault?: Fault } = {};
  promise.then(
    () => (outcome.done = true),
    (fault: Fault) => (outcome.fault = fault),
  );
  return outcome;
}
