import { existsSync, readFileSync } from 'node:fs';
import type { Logger } from '../../core/log.ts';
import { SupervisedProcess } from './supervised-process.ts';
import { SystemdUnit } from './systemd-unit.ts';

/** A server program of the management node that muster configures. Every call may be made at any time; they take their turns. */
export interface Daemon {
  isRunning(): Promise<boolean>;
  /** Resolves when it serves; what it said last is in the error when it does not. Harmless when it runs already. */
  start(): Promise<void>;
  /** Lets it read its configuration again, by SIGHUP; starts it if it does not run. */
  reload(): Promise<void>;
  /** Also for the next start of the machine. */
  stop(): Promise<void>;
  /** At the start of muster: what muster itself supervises runs again, what systemd keeps is watched again. */
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
  /** Whether it serves; `pid` is its process, where muster supervises it. */
  ready(pid?: number): Promise<boolean>;
  /** Why the process cannot serve, though it runs: it need not be waited for. */
  obstacle?(pid: number): string | undefined;
}

type Keeper = 'systemd' | 'process';

interface DaemonOptions {
  readonly how: Keeper;
  readonly log: Logger;
  /** For the log and the pid file of a process that muster supervises. */
  readonly directory: string;
}

export function makeDaemon(spec: DaemonSpec, { how, log, directory }: DaemonOptions): Daemon {
  return how === 'systemd' ? new SystemdUnit(spec, log) : new SupervisedProcess(spec, log, directory);
}

/** Whether systemd runs this machine; in a container it usually does not. */
export const systemdIsThere = (): boolean => existsSync('/run/systemd/system');

/** A user of this machine, such as one that a daemon runs as. */
export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export function userNamed(name: string): User | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined ? undefined : { name, uid: Number(uid), gid: Number(gid) };
}
