import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, debianPlaces, filled } from './build.ts';
import { checkout, commandFiles, musterFiles } from './contents.ts';
import { type PackageFile, program, writeFiles } from './files.ts';
import { copyright } from './licenses.ts';
import type { Architecture } from './native.ts';

const data = (name: string): string => readFileSync(join(checkout, 'packaging/debian', name), 'utf8');

/** Writes the packages muster and muster-xcat-commands; returns their files. */
export function debianPackages(architecture: Architecture, options: BuildOptions): string[] {
  const { version } = options;
  const values = { VERSION: version, ARCHITECTURE: architecture };
  const scripts = ['postinst', 'prerm', 'postrm'].map((name) => controlFile(name, data(name), program));
  const files = musterFiles(architecture, debianPlaces);
  const settings = files.filter(({ isConfiguration }) => isConfiguration);
  return [
    build('muster', architecture, options, [
      ...files,
      ...documents('muster', version),
      { path: '/usr/share/lintian/overrides/muster', content: { text: data('lintian-overrides') } },
      controlFile('control', data('control'), undefined, values),
      controlFile('templates', data('templates')),
      controlFile('conffiles', settings.map(({ path }) => `${path}\n`).join('')),
      ...scripts,
    ]),
    build('muster-xcat-commands', 'all', options, [
      ...commandFiles(),
      ...documents('muster-xcat-commands', version),
      controlFile('control', data('control-commands'), undefined, values),
    ]),
  ];
}

const controlFile = (
  name: string,
  text: string,
  mode?: number,
  values: Readonly<Record<string, string>> = {},
): PackageFile => ({
  path: `/DEBIAN/${name}`,
  content: { text: filled(text, values) },
  ...(mode === undefined ? {} : { mode }),
});

const documents = (name: string, version: string): PackageFile[] => [
  { path: `/usr/share/doc/${name}/copyright`, content: { text: copyright() } },
  {
    path: `/usr/share/doc/${name}/changelog.gz`,
    content: {
      text: gzipSync(
        `${name} (${version}) unstable; urgency=medium\n\n  * See /usr/share/doc/muster/CHANGELOG.md.gz.\n\n -- muster maintainers <maintainers@muster.invalid>  ${lastChange()}\n`,
        { level: 9 },
      ),
    },
  },
];

/** Of the sources, so that the same sources make the same package. */
const lastChange = (): string =>
  execFileSync('git', ['-C', checkout, 'log', '-1', '--format=%cD'], { encoding: 'utf8' }).trim();

function build(
  name: string,
  architecture: string,
  { version, directory, fast }: BuildOptions,
  files: readonly PackageFile[],
): string {
  const root = mkdtempSync(join(tmpdir(), 'muster-package-'));
  try {
    writeFiles(root, files);
    const size = String(Math.ceil(sizeOf(root, files) / 1_024));
    const control = join(root, 'DEBIAN/control');
    writeFiles(root, [controlFile('control', readFileSync(control, 'utf8'), undefined, { SIZE: size })]);
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `${name}_${version}_${architecture}.deb`);
    execFileSync('chmod', ['755', root]);
    const compression = fast ? ['-Zgzip', '-z1'] : ['-Zxz', '-z6'];
    execFileSync('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file], {
      stdio: ['ignore', 2, 2],
    });
    return file;
  } finally {
    rmSync(root, { recursive: true });
  }
}

const sizeOf = (root: string, files: readonly PackageFile[]): number =>
  files.reduce(
    (sum, { path, content }) =>
      sum + ('link' in content || 'directory' in content ? 0 : statSync(join(root, path)).size),
    0,
  );
