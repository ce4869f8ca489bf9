import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type BuildOptions, filled, rpmPlaces } from './build.ts';
import { checkout, commandFiles, musterFiles } from './contents.ts';
import { type PackageFile, writeFiles } from './files.ts';
import { copyright } from './licenses.ts';
import type { Architecture } from './native.ts';

/** What RPM calls it. */
export const rpmName: Readonly<Record<Architecture, string>> = { amd64: 'x86_64', arm64: 'aarch64' };

const release = '1';

/** Directories of which all belongs to muster. Others belong to the system, and stay when the package goes. */
const ownDirectories = [
  '/usr/lib/muster',
  '/etc/muster',
  '/usr/share/doc/muster',
  '/usr/share/doc/muster-xcat-commands',
];

/** Writes the packages muster and muster-xcat-commands for RPM; returns their files. */
export function rpmPackages(architecture: Architecture, { version, directory, fast }: BuildOptions): string[] {
  const staging = mkdtempSync(join(tmpdir(), 'muster-rpm-'));
  try {
    const files = [...musterFiles(architecture, rpmPlaces), license('muster')];
    const commands = [...commandFiles(), license('muster-xcat-commands')];
    const root = join(staging, 'files');
    writeFiles(root, [...files, ...commands]);
    const write = (name: string, text: string): string => {
      writeFileSync(join(staging, name), text);
      return join(staging, name);
    };
    const spec = filled(readFileSync(join(checkout, 'packaging/rpm/muster.spec'), 'utf8'), {
      VERSION: version,
      WIDTH: '()(64bit)',
      FILES: root,
      LIST: write('list', listOf(files)),
      LIST_OF_COMMANDS: write('list-of-commands', listOf(commands)),
    });
    const macros = {
      _topdir: join(staging, 'top'),
      _rpmdir: join(staging, 'made'),
      _dbpath: join(staging, 'db'),
      _binary_payload: fast ? 'w1.gzdio' : 'w6.xzdio',
      // The same sources make the same package.
      _buildhost: 'localhost',
      use_source_date_epoch_as_buildtime: '1',
      clamp_mtime_to_source_date_epoch: '1',
    };
    const { status, stderr, error } = spawnSync(
      'rpmbuild',
      [
        '-bb',
        '--target',
        rpmName[architecture],
        ...Object.entries(macros).flatMap(([name, value]) => ['--define', `${name} ${value}`]),
        write('muster.spec', spec),
      ],
      { encoding: 'utf8', maxBuffer: 1 << 28, env: { ...process.env, SOURCE_DATE_EPOCH: lastChange() } },
    );
    if (status !== 0)
      throw new Error(`rpmbuild failed: ${error?.message ?? stderr.trim().split('\n').slice(-20).join('\n')}`);
    mkdirSync(directory, { recursive: true });
    const made = [
      ['muster', rpmName[architecture]],
      ['muster-xcat-commands', 'noarch'],
    ] as const;
    return made.map(([name, of]) => {
      const file = `${name}-${version}-${release}.${of}.rpm`;
      copyFileSync(join(staging, 'made', of, file), join(directory, file));
      return join(directory, file);
    });
  } finally {
    rmSync(staging, { recursive: true });
  }
}

const license = (name: string): PackageFile => ({
  path: `/usr/share/doc/${name}/copyright`,
  content: { text: copyright() },
});

/** Seconds, of the last commit. */
export const lastChange = (): string =>
  execFileSync('git', ['-C', checkout, 'log', '-1', '--format=%ct'], { encoding: 'utf8' }).trim();

/** The lines of `%files`. Modes are those of the files. */
function listOf(files: readonly PackageFile[]): string {
  const directories = new Set(files.flatMap(({ path }) => directoriesOf(path)));
  return [
    ...[...directories].toSorted().map((path) => `%attr(0755, root, root) %dir ${quoted(path)}`),
    ...files.map(({ path, isConfiguration }) => {
      const kind = isConfiguration ? '%config(noreplace) ' : '';
      return `%attr(-, root, root) ${kind}${quoted(path)}`;
    }),
    '',
  ].join('\n');
}

function directoriesOf(path: string): string[] {
  const found: string[] = [];
  for (let each = dirname(path); ownDirectories.some((own) => `${each}/`.startsWith(`${own}/`)); each = dirname(each))
    found.push(each);
  return found;
}

/** A per cent sign begins a macro, and a star a pattern. */
const quoted = (path: string): string => `"${path.replaceAll('%', '%%').replaceAll(/[*?[\]{}]/g, '[$&]')}"`;
