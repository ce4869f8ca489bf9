import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Fault } from '../core/errors.ts';
import { home } from '../core/home.ts';
import { quoteWord } from '../core/shell-words.ts';
import { rotateBackups } from './rotate-backups.ts';
import type { BackupSettings } from './settings.ts';

const timer = 'muster-backup.timer';
const unitDirectories = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];

/** How this muster was called: what runs at night has to find the same settings. */
export interface CalledWith {
  readonly config: string | undefined;
  readonly data: string | undefined;
}

/** Makes a backup now, so that what is wrong shows while somebody looks, and has one made every night. Returns what to say. */
export async function scheduleBackups(dataDir: string, settings: BackupSettings, called: CalledWith): Promise<string> {
  const file = await rotateBackups(dataDir, settings);
  const made = `${file} has been written.`;
  const hasTimer = unitDirectories.some((directory) => existsSync(join(directory, timer)));
  // The unit has the settings of the package, and knows of no others.
  const isOther = called.data !== undefined || (called.config !== undefined && called.config !== packageConfig);
  if (!hasTimer || isOther || !existsSync('/run/systemd/system')) return `${made}\n${cronLine(called)}`;
  try {
    execFileSync('systemctl', ['enable', '--now', timer], { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Fault('unavailable', [
      `${made} But systemd does not start ${timer}: ${(stderr?.trim() || message).replace(/\.$/, '')}.`,
      `Run "systemctl enable --now ${timer}" as root.`,
    ]);
  }
  return `${made}\nA backup is made every night now. "systemctl list-timers ${timer}" shows when.`;
}

const packageConfig = '/etc/muster/muster.toml';

function cronLine({ config, data }: CalledWith): string {
  const words = [
    join(home, 'bin/muster'),
    ...(config === undefined ? [] : ['--config', resolve(config)]),
    ...(data === undefined ? [] : ['--data', resolve(data)]),
    'backup',
    '--rotate',
  ];
  const line = words.map(quoteWord).join(' ').replaceAll('%', '\\%');
  return [
    'Nothing runs it by itself yet. For a backup every night, write this line into /etc/cron.d/muster-backup:',
    `15 2 * * * root ${line}`,
  ].join('\n');
}
