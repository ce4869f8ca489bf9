// What is in the packages, whichever kind of package it is.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { commands } from '../../src/cli/commands/index.ts';
import type { Places } from './build.ts';
import { type PackageFile, filesBelow, program } from './files.ts';
import { type Architecture, nativeFiles } from './native.ts';

export const checkout = join(import.meta.dirname, '../..');
const home = '/usr/lib/muster';
const packaging = join(checkout, 'packaging');

/** Commands that xCAT has too, by their names. */
export const familiarCommands: readonly string[] = Object.keys(commands).filter((name) => !commands[name]!.isMuster);

/** Runs the command line of this checkout. */
const muster = (...words: string[]): string =>
  execFileSync(join(checkout, 'bin/muster'), words, { encoding: 'utf8', env: { PATH: process.env['PATH'] } });

export function musterFiles(architecture: Architecture, { units, zsh, pam }: Places): PackageFile[] {
  const built = realpathSync(join(checkout, 'dist'));
  return [
    { path: join(home, 'bin/muster'), content: { file: join(checkout, 'bin/muster') }, mode: program },
    { path: join(home, 'package.json'), content: { file: join(checkout, 'package.json') } },
    ...filesBelow(built, join(home, 'dist')),
    ...['share', 'docs'].flatMap((each) =>
      filesBelow(join(checkout, each), join(home, each)).map((file) => ({ ...file, ...modeOf(file) })),
    ),
    ...nativeFiles(home, architecture),
    { path: '/usr/bin/muster', content: { link: '../lib/muster/bin/muster' } },
    {
      path: '/etc/muster/muster.toml',
      content: { file: join(packaging, 'muster.toml') },
      // A password may stand in it.
      mode: 0o640,
      isConfiguration: true,
    },
    { path: '/etc/pam.d/muster', content: { file: join(packaging, pam) }, isConfiguration: true },
    ...['muster.service', 'muster-worker@.service', 'muster-backup.service', 'muster-backup.timer'].map((name) => ({
      path: join(units, name),
      content: { file: join(packaging, name) },
    })),
    { path: '/usr/lib/tmpfiles.d/muster.conf', content: { file: join(packaging, 'muster.tmpfiles') } },
    { path: '/usr/share/bash-completion/completions/muster', content: { text: muster('completion', 'bash') } },
    { path: join(zsh, '_muster'), content: { text: zshCompletion() } },
    { path: '/usr/share/fish/vendor_completions.d/muster.fish', content: { text: muster('completion', 'fish') } },
    { path: '/usr/share/doc/muster/README.md', content: { file: join(checkout, 'README.md') } },
    {
      path: '/usr/share/doc/muster/CHANGELOG.md.gz',
      content: { text: gzipSync(readFileSync(join(checkout, 'CHANGELOG.md')), { level: 9 }) },
    },
    { path: '/usr/share/doc/muster/manual', content: { link: '../../../lib/muster/docs' } },
    ...manualPages((name) => !familiarCommands.includes(name)),
  ];
}

/** The names of commands as in xCAT, in a package of their own: a machine with xCAT has these names already. */
export const commandFiles = (): PackageFile[] => [
  ...familiarCommands.map((name) => ({
    path: join('/usr/bin', name),
    content: { link: '../lib/muster/bin/muster' },
  })),
  ...manualPages((name) => familiarCommands.includes(name)),
];

const modeOf = ({ content }: PackageFile): { mode?: number } =>
  'file' in content && readFileSync(content.file).subarray(0, 2).toString() === '#!' ? { mode: program } : {};

/** zsh loads the file as the function itself, when somebody completes for the first time. */
const zshCompletion = (): string => `#compdef muster\n${muster('completion', 'zsh')}\n_muster "$@"\n`;

function manualPages(wanted: (name: string) => boolean): PackageFile[] {
  const directory = mkdtempSync(join(tmpdir(), 'muster-pages-'));
  try {
    muster('manpages', directory);
    return readdirSync(join(directory, 'man1'))
      .filter((file) => wanted(basename(file, '.1')))
      .toSorted()
      .map((file) => ({
        path: join('/usr/share/man/man1', `${file}.gz`),
        content: { text: gzipSync(readFileSync(join(directory, 'man1', file)), { level: 9 }) },
      }));
  } finally {
    rmSync(directory, { recursive: true });
  }
}
