import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import type { Daemon, DaemonSpec } from './daemon.ts';

const readyWithin = 15_000;
const commandDeadline = 60_000;

/** A daemon that systemd starts, watches and restarts. */
export class SystemdUnit implements Daemon {
  readonly #spec: DaemonSpec;

  constructor(spec: DaemonSpec) {
    this.#spec = spec;
  }

  async isRunning(): Promise<boolean> {
    const { failed } = await systemctl('is-active', '--quiet', this.#spec.unit);
    return !failed;
  }

  async start(): Promise<void> {
    await this.#tell('start');
    await this.#untilReady();
  }

  async reload(): Promise<void> {
    if (typeof this.#spec.reload === 'function' && (await this.isRunning())) await this.#spec.reload();
    else await this.#tell('reload-or-restart');
    await this.#untilReady();
  }

  async restart(): Promise<void> {
    await this.#tell('restart');
    await this.#untilReady();
  }

  stop(): Promise<void> {
    return this.#tell('stop');
  }

  resume(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #tell(verb: string): Promise<void> {
    const { unit, name } = this.#spec;
    const { failed, output } = await systemctl(verb, unit);
    if (!failed) return;
    throw new Fault(
      'unavailable',
      `systemctl ${verb} ${unit} failed: ${output || 'no message'}. Look at journalctl -u ${unit} to see why ${name} is away.`,
    );
  }

  async #untilReady(): Promise<void> {
    const { name, unit, ready } = this.#spec;
    for (const deadline = Date.now() + readyWithin; Date.now() < deadline; await pause(50)) {
      if (await ready()) return;
    }
    throw new Fault('unavailable', `${name} was started but does not answer. Look at journalctl -u ${unit}.`);
  }
}

const systemctl = (...args: string[]): Promise<{ failed: boolean; output: string }> =>
  new Promise((resolve) => {
    execFile('systemctl', args, { timeout: commandDeadline }, (error, stdout, stderr) => {
      const said = `${stdout}${stderr}`.trim().replaceAll(/\s+/g, ' ').slice(0, 500);
      resolve({ failed: error !== null, output: said || (error?.message ?? '') });
    });
  });
