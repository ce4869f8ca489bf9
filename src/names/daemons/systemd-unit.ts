import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import { Turns } from '../../core/waiting.ts';
import type { Daemon, DaemonSpec } from './daemon.ts';

/** One that ends is noticed at once; a busy machine, or one with many zones, takes long to start one. */
const readyWithin = 60_000;
const commandTimeout = 60_000;
const shortestPause = 5_000;
const longestPause = 320_000;

/**
 * A daemon that systemd keeps, also while muster is away. Not every unit is restarted by systemd when it dies (Debian's Kea is not),
 * and no unit for ever: what has failed is started again by muster. What somebody has stopped stays so.
 */
export class SystemdUnit implements Daemon {
  readonly #spec: DaemonSpec;
  readonly #log: Logger;
  readonly #turns = new Turns();
  #watched = false;
  #pause = shortestPause;
  #timer: NodeJS.Timeout | undefined;

  constructor(spec: DaemonSpec, log: Logger) {
    this.#spec = spec;
    this.#log = log;
  }

  async isRunning(): Promise<boolean> {
    const { failed } = await run('systemctl', 'is-active', '--quiet', this.#spec.unit);
    return !failed;
  }

  start(): Promise<void> {
    return this.#turns.take(() => this.#start());
  }

  reload(): Promise<void> {
    return this.#turns.take(async () => {
      if (!(await this.isRunning())) return this.#start();
      // Not the unit's own way: named's asks rndc, which a former configuration may not let in.
      await this.#systemctl('kill', '--signal=HUP');
      await this.#untilReady();
    });
  }

  stop(): Promise<void> {
    return this.#turns.take(async () => {
      await this.close();
      await this.#atBoot('disable');
      await this.#systemctl('stop');
    });
  }

  resume(): Promise<void> {
    this.#watched = true;
    this.#lookLater();
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#watched = false;
    clearTimeout(this.#timer);
    return Promise.resolve();
  }

  async #start(): Promise<void> {
    const runs = await this.isRunning();
    await this.#atBoot('enable');
    // One that runs and does not answer has another configuration.
    if (!runs || !(await this.#spec.ready())) await this.#begin(runs ? 'restart' : 'start');
    this.#pause = shortestPause;
    await this.resume();
  }

  async #begin(verb: 'start' | 'restart'): Promise<void> {
    // It may have failed too often to be started again; that was another configuration.
    await run('systemctl', 'reset-failed', this.#spec.unit);
    await this.#systemctl(verb);
    await this.#untilReady();
  }

  /** Where units cannot be changed it serves all the same, until the machine is restarted. */
  async #atBoot(verb: 'enable' | 'disable'): Promise<void> {
    const { unit } = this.#spec;
    const { failed, output } = await run('systemctl', '--quiet', verb, unit);
    if (failed) this.#log.warn(`systemctl ${verb} ${unit} failed: ${output}`);
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    if (!this.#watched) return;
    this.#timer = setTimeout(() => void this.#turns.take(() => this.#look()), this.#pause);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const failed = await this.#hasFailed();
    this.#pause = failed ? Math.min(longestPause, this.#pause * 2) : shortestPause;
    if (failed && this.#watched) {
      const { name } = this.#spec;
      this.#log.warn(`${name} has failed; it is started again`);
      await this.#begin('start').catch((error: unknown) =>
        this.#log.error({ err: error }, `${name} could not be started again`),
      );
    }
    this.#lookLater();
  }

  async #hasFailed(): Promise<boolean> {
    return !(await run('systemctl', 'is-failed', '--quiet', this.#spec.unit)).failed;
  }

  async #systemctl(...command: readonly string[]): Promise<void> {
    const { unit } = this.#spec;
    const { failed, output } = await run('systemctl', ...command, unit);
    if (!failed) return;
    // Of a job it says only that it failed; of all else it says why.
    const said = output.startsWith('Job for') ? await this.#lastWords() : output;
    throw this.#fault(`systemctl ${command.join(' ')} ${unit} failed`, said);
  }

  async #untilReady(): Promise<void> {
    const { name, ready } = this.#spec;
    for (const deadline = Date.now() + readyWithin; Date.now() < deadline; await pause(50)) {
      if (await ready()) return;
      if (await this.#hasFailed()) break;
    }
    throw this.#fault(`${name} was started but does not answer. It said last`, await this.#lastWords());
  }

  #fault(what: string, said: string): Fault {
    const end = said === '' ? 'no message.' : said.endsWith('.') ? said : `${said}.`;
    return new Fault('unavailable', [`${what}: ${end}`, `journalctl -u ${this.#spec.unit} shows more.`]);
  }

  async #lastWords(): Promise<string> {
    const { unit } = this.#spec;
    const { failed, output } = await run('journalctl', '--unit', unit, '--lines=4', '--output=cat', '--no-pager');
    return failed ? '' : output.split('\n').join(' | ').slice(-800);
  }
}

const run = (program: string, ...args: readonly string[]): Promise<{ failed: boolean; output: string }> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: commandTimeout }, (error, stdout, stderr) => {
      const said = `${stdout}${stderr}`.trim().replaceAll(/[^\n\x20-\x7e]/g, '?');
      resolve({ failed: error !== null, output: said || (error?.message ?? '') });
    });
  });
