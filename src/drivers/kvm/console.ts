import { Fault } from '../../core/errors.ts';
import { openConsole } from '../../protocols/libvirt/calls/consoles.ts';
import { type Domain, type LifecycleEvent, lifecycles } from '../../protocols/libvirt/calls/domains.ts';
import type { OpenStream } from '../../protocols/libvirt/connection.ts';
import { isRefusal } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import type { Console, ConsoleOptions } from '../console.ts';
import type { Hypervisor } from './hypervisor.ts';
import { type Machine, noHypervisor } from './machine.ts';

/** Milliseconds before a console that has ended while its machine runs is opened again. */
const pauseBeforeAgain = 250;
/** What a machine may print in a second; when it prints more, its hypervisor is read from more slowly. */
const perSecond = 4 << 20;
const flowRest = 100;
const always = new AbortController().signal;

/** A machine that is off has no console: it stays open, and is there again when the machine starts. */
export const kvmConsole = (machine: Machine): Console => ({
  async open(options, signal) {
    const { host, route, node } = machine.access;
    if (host === undefined) throw noHypervisor();
    const hypervisor = await machine.hypervisors.forConsoles(host, route, signal);
    const domain = await hypervisor.machine(node, signal);
    const console = new KvmConsole(hypervisor, domain, options);
    await console.begin(signal);
    return {
      way: `libvirt ${host}`,
      write: (bytes) => console.write(bytes),
      sendBreak: () => Promise.reject(new Fault('invalid', 'the console of a virtual machine has no break.')),
      close: () => console.close(),
    };
  },
});

class KvmConsole {
  readonly #hypervisor: Hypervisor;
  readonly #domain: Domain;
  readonly #options: ConsoleOptions;
  readonly #ignore: () => void;
  #stream: OpenStream | undefined;
  #isOpening = false;
  /** It was heard to start while its console was being opened. */
  #mayHaveStarted = false;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;
  #second = { number: 0, bytes: 0 };

  constructor(hypervisor: Hypervisor, domain: Domain, options: ConsoleOptions) {
    this.#hypervisor = hypervisor;
    this.#domain = domain;
    this.#options = options;
    this.#ignore = hypervisor.listen((event) => this.#heard(event));
  }

  async begin(signal: AbortSignal): Promise<void> {
    try {
      await this.#attach(this.#options.takeOver, signal);
    } catch (error) {
      this.#leave();
      throw error;
    }
    void this.#hypervisor.connection.ended.then((reason) => this.#end(reason));
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#isOver) throw new Fault('unavailable', 'its console is closed.');
    if (!this.#stream) throw new Fault('unavailable', 'it is off: nothing can be typed at its console.');
    await this.#stream.write(bytes);
  }

  async close(): Promise<void> {
    this.#end();
  }

  /** Does nothing if the machine is off. */
  async #attach(takeOver: boolean, signal: AbortSignal): Promise<void> {
    if (this.#isOver || this.#stream) return;
    if (this.#isOpening) {
      this.#mayHaveStarted = true;
      return;
    }
    this.#isOpening = true;
    try {
      const listener = {
        data: (bytes: Buffer) => this.#print(bytes),
        closed: () => this.#detached(),
      };
      const { connection } = this.#hypervisor;
      const stream = await openConsole(connection, this.#domain, takeOver, listener, { signal });
      if (this.#isOver) stream.close();
      else this.#stream = stream;
    } catch (error) {
      if (isInUse(error)) throw new Fault('conflict', 'its console is in use by another client of libvirt.');
      if (!isRefusal(error, errorCodes.operationInvalid) && !isStarting(error)) throw error;
    } finally {
      this.#isOpening = false;
      if (this.#mayHaveStarted) this.#attachLater(0);
      this.#mayHaveStarted = false;
    }
  }

  #heard({ domain, event }: LifecycleEvent): void {
    if (domain.uuid !== this.#domain.uuid) return;
    if (event === lifecycles.started) this.#attachLater(0);
    if (event === lifecycles.undefined)
      this.#end(new Fault('unavailable', `its machine is no longer on ${this.#hypervisor.host}.`));
  }

  #detached(): void {
    this.#stream = undefined;
    this.#attachLater(pauseBeforeAgain);
  }

  /** One that runs may have lost it to somebody else; one that does not run is waited for. */
  #attachLater(milliseconds: number): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#attach(false, always).catch((error: Error) => this.#end(error));
    }, milliseconds);
  }

  #print(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#options.output(bytes);
    const number = Math.floor(performance.now() / 1_000);
    if (this.#second.number !== number) this.#second = { number, bytes: 0 };
    this.#second.bytes += bytes.length;
    if (this.#second.bytes > perSecond) this.#hypervisor.connection.rest(flowRest);
  }

  #leave(): void {
    this.#isOver = true;
    this.#ignore();
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#stream = undefined;
  }

  #end(reason?: Error): void {
    if (this.#isOver) return;
    this.#leave();
    this.#options.closed(reason);
  }
}

/** Its serial port is not there yet; libvirt tells when it has started. */
const isStarting = (error: unknown): boolean =>
  isRefusal(error, errorCodes.operationFailed) && /not yet assigned/i.test(error.message);

const isInUse = (error: unknown): boolean =>
  isRefusal(error, errorCodes.operationFailed) && /active console/i.test(error.message);
