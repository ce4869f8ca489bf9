import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { writeFileAtomically } from '../core/files.ts';
import type { BackupSettings } from './settings.ts';

const backupState = Type.Object({
  /** When a scheduled backup was last tried. */
  last: Type.String(),
  /** When everything about it went well the last time. */
  good: Type.Optional(Type.String()),
  file: Type.Optional(Type.String()),
  bytes: Type.Optional(Type.Number()),
  /** What went wrong the last time. */
  problems: Type.Array(Type.String()),
});
export type BackupState = Static<typeof backupState>;

const fileIn = (dataDir: string): string => join(dataDir, 'backup-state.json');

/** How the last scheduled backup went; undefined: there was none. */
export function readBackupState(dataDir: string): BackupState | undefined {
  try {
    const state: unknown = JSON.parse(readFileSync(fileIn(dataDir), 'utf8'));
    return Check(backupState, state) ? state : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export const writeBackupState = (dataDir: string, state: BackupState): void =>
  writeFileAtomically(fileIn(dataDir), `${JSON.stringify(state)}\n`, 0o600);

const hour = 3_600_000;
/** A night may be missed, since the machine was off. */
const mostAge = 50 * hour;

export interface BackupVerdict {
  readonly isWell: boolean;
  readonly sentence: string;
}

const make = 'muster backup --schedule';

/** What there is to say about scheduled backups. */
export function judgeBackups(
  settings: Pick<BackupSettings, 'directory'>,
  state: BackupState | undefined,
  now: number,
): BackupVerdict {
  const wrong = (sentence: string): BackupVerdict => ({ isWell: false, sentence });
  if (settings.directory === undefined)
    return { isWell: true, sentence: `none is scheduled: set backup.directory, and run "${make}"` };
  if (!state) return wrong(`none has been made in ${settings.directory} yet: run "${make}"`);
  if (state.problems.length > 0)
    return wrong(
      `the one of ${state.last} failed: ${state.problems.join(' ')} Mend it, and run "muster backup --rotate"`,
    );
  const good = Date.parse(state.good ?? state.last);
  const hours = Math.max(0, Math.round((now - good) / hour));
  if (now - good > mostAge)
    return wrong(
      `the last one is ${hours} hours old: see why with "systemctl status muster-backup.timer muster-backup", and run "${make}"`,
    );
  return { isWell: true, sentence: `the last one is ${hours} hours old: ${state.file ?? settings.directory}` };
}
