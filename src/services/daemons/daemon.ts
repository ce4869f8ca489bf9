import { existsSync } from 'node:fs';
import type { Logger } from '../../core/log.ts';
import { SupervisedProcess } from './supervised-process.ts';
import { SystemdUnit } from './systemd-unit.ts';

/** A server program of the management node that muster configures. Every call may be made at any time; they take their turns. */
export interface Daemon {
  isRunning(): Promise<boolean>;
  /** Resolves when it serves; what it said last is in the error when it does not. Harmless when it runs already. */
  start(): Promise<void>;
  /** Lets it read its configuration again; starts it if it does not run. */
  reload(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** At the start of muster: what muster itself supervises runs again, what systemd keeps is systemd's matter. */
  resume(): Promise<void>;
  /** At the end of muster: ends what muster supervises. */
  close(): Promise<void>;
}

export interface DaemonSpec {
  readonly name: string;
  readonly unit: string;
  /** Runs in the foreground. */
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where muster notes which process it is; DIRECTORY/NAME.process if absent. */
  readonly pidFile?: string;
  /** SIGHUP if absent. */
  readonly reload?: 'SIGHUP' | (() => Promise<void>);
  /** Whether it serves. */
  ready(): Promise<boolean>;
}

export type Keeper = 'systemd' | 'process';

export interface DaemonOptions {
  readonly how: Keeper;
  readonly log: Logger;
  /** For the log and the pid file of a process that muster supervises. */
  readonly directory: string;
}

export function makeDaemon(spec: DaemonSpec, { how, log, directory }: DaemonOptions): Daemon {
  return how === 'systemd' ? new SystemdUnit(spec) : new SupervisedProcess(spec, log, directory);
}

/** Whether systemd runs this machine; in a container it usually does not. */
export const systemdIsThere = (): boolean => existsSync('/run/systemd/system');
