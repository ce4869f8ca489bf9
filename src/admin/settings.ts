import { Type } from 'typebox';
import { Count, Path, setting, type ValuesOf } from '../core/settings.ts';

export const backupSettings = Type.Object({
  directory: setting(Path, 'directory for the backups that `muster backup --schedule` makes every night', {
    defaultText: 'none',
  }),
  offSite: setting(
    Path,
    'directory on another machine, mounted here, that gets a copy of each of these backups; muster refuses it while it is not mounted',
    { defaultText: 'none' },
  ),
  daily: setting(Count, 'days of which to keep the latest of these backups', { default: 7 }),
  weekly: setting(Count, 'weeks of which to keep the latest of these backups', { default: 5 }),
});
export type BackupSettings = ValuesOf<typeof backupSettings>;
