import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { scratchDirectory } from '../../harness/store.ts';

export interface FakeDisk {
  /** `sda` */
  readonly name: string;
  readonly isRemovable?: boolean;
  readonly isReadOnly?: boolean;
  /** More files of it below /sys/block/NAME. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface Ran {
  readonly code: number | null;
  readonly errors: string;
  /** What it left in /tmp. */
  readonly files: Readonly<Record<string, string>>;
}

/** Runs a script of an installer where the kernel shows these disks, and with a /tmp of its own. */
export function runWithDisks(script: string, disks: readonly FakeDisk[]): Ran {
  const directory = scratchDirectory();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text, 'latin1');
  };
  for (const { name, isRemovable = false, isReadOnly = false, files = {} } of disks) {
    const all = {
      ro: `${Number(isReadOnly)}\n`,
      removable: `${Number(isRemovable)}\n`,
      size: '41943040\n',
      'device/type': '0\n',
    };
    for (const [path, text] of Object.entries({ ...all, ...files })) write(`sys/block/${name}/${path}`, text);
  }
  write('tmp/script', script);
  const enter = `mount --bind ${directory}/sys /sys && mount --bind ${directory}/tmp /tmp && exec sh /tmp/script`;
  try {
    const { status, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', enter], { encoding: 'utf8' });
    const left = readdirSync(join(directory, 'tmp')).filter((name) => name !== 'script');
    const files = Object.fromEntries(left.map((name) => [name, readFileSync(join(directory, 'tmp', name), 'utf8')]));
    return { code: status, errors: stderr, files };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
