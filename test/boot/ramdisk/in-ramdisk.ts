import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { applets, ramdiskScripts } from '../../../src/images/build/ramdisk-tools.ts';

/** The scripts of the initial RAM disk with busybox and nothing else, as they are on a machine, in a directory of their own. */
export interface Ramdisk {
  readonly top: string;
  /** Puts files into it; a text that begins with `->` makes a link. */
  put(files: Readonly<Record<string, string | Buffer>>): void;
  /** What shell lines print that have the functions of the scripts. */
  run(lines: string): Promise<string>;
}

export function openRamdisk(): Ramdisk {
  const top = mkdtempSync(join(tmpdir(), 'muster-ramdisk-'));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const put: Ramdisk['put'] = (files) => {
    for (const [name, content] of Object.entries(files)) {
      const path = join(top, name);
      mkdirSync(dirname(path), { recursive: true });
      if (typeof content === 'string' && content.startsWith('->')) symlinkSync(content.slice(2), path);
      else writeFileSync(path, content, { mode: 0o755 });
    }
  };
  mkdirSync(join(top, 'bin'));
  copyFileSync('/bin/busybox', join(top, 'bin/busybox'));
  for (const applet of applets.split(' ')) symlinkSync('busybox', join(top, 'bin', applet));
  put(Object.fromEntries(ramdiskScripts()));
  put({ 'proc/cmdline': '', 'proc/meminfo': 'MemTotal:        2048000 kB\n', 'run/.keep': '', 'dev/.keep': '' });
  return {
    top,
    put,
    run: (lines) =>
      new Promise((resolve) => {
        const script = `for part in /lib/muster/*; do . "$part"; done\n${lines}`;
        execFile(
          'chroot',
          [top, '/bin/sh', '-c', script],
          { env: { PATH: '/bin:/usr/sbin:/sbin:/usr/bin' } },
          (_error, stdout, stderr) => resolve(stdout + stderr),
        );
      }),
  };
}
