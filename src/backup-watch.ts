import { judgeBackups, readBackupState } from './admin/backup-state.ts';
import type { Context } from './context.ts';

const lookEvery = 10_000;

/** Scheduled backups are made by another process, at night: the server tells those who listen when one has failed, or none is made. */
export class BackupWatch {
  readonly #context: Context;
  readonly #timer: NodeJS.Timeout;
  /** What was reported last: the time of the try, and how much was wrong with it. */
  #reported = '';

  constructor(context: Context) {
    this.#context = context;
    this.#timer = setInterval(() => this.#look(), lookEvery).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { config, events, log } = this.#context;
    const { data, database, backup } = config;
    if (database !== undefined || backup.directory === undefined) return;
    try {
      const state = readBackupState(data);
      // Without any, somebody is about to set it up.
      if (!state) return;
      const { isWell, sentence } = judgeBackups(backup, state, Date.now());
      const about = isWell ? '' : `${state.last} ${state.problems.length}`;
      if (about === this.#reported) return;
      this.#reported = about;
      if (isWell) return;
      const whole = `Backups of muster: ${sentence}.`;
      log.error(whole);
      events.notice([], whole);
    } catch (error) {
      log.error({ err: error }, 'muster could not look how the last backup went');
    }
  }
}
