// An OCI image: Debian's own packages as one layer, the files of muster as another.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuildOptions, debianPlaces } from './build.ts';
import { musterFiles } from './contents.ts';
import { type PackageFile, program } from './files.ts';
import { copyright } from './licenses.ts';
import { type Architecture, ownArchitecture } from './native.ts';
import { lastChange } from './rpm.ts';
import { type Layer, layerOf, tarOf, writeImage } from './oci.ts';

const suite = 'bookworm';

/** What muster and the programs that it starts need besides the essential packages of Debian. */
const basePackages = ['libstdc++6', 'ca-certificates', 'openssh-client', 'fping', 'iproute2'];

/** Texts that nobody reads in a container. Licenses stay. */
const leftOut = ['/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*', '/usr/share/doc/*'];

/** What decides what the base is. */
export const baseRecipe: readonly string[] = [suite, ...basePackages, ...leftOut];

/** Writes a tar file with the base of the image: a small Debian, whose packages mmdebstrap fetches and checks. */
export function makeBase(file: string): void {
  execFileSync(
    'mmdebstrap',
    [
      '--variant=essential',
      `--include=${basePackages.join(',')}`,
      ...leftOut.map((path) => `--dpkgopt=path-exclude=${path}`),
      '--dpkgopt=path-include=/usr/share/doc/*/copyright',
      suite,
      file,
    ],
    { stdio: ['ignore', 2, 2], env: { ...process.env, SOURCE_DATE_EPOCH: lastChange() } },
  );
}

/** `base`: a tar file that `makeBase` has written, if it is to be used again. Returns the file of the image. */
export function ociImage(architecture: Architecture, options: BuildOptions, base?: string): string {
  if (architecture !== ownArchitecture)
    throw new Error(
      `An image for ${architecture} is made on a machine of that architecture: the packages of Debian in it are configured by their own programs.`,
    );
  const staging = mkdtempSync(join(tmpdir(), 'muster-image-'));
  try {
    const made = base ?? join(staging, 'base.tar');
    if (base === undefined) makeBase(made);
    const { version, directory, fast } = options;
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `muster_${version}_${architecture}.oci.tar`);
    const layers: Layer[] = [
      layerOf(readFileSync(made), 'Debian', fast),
      layerOf(tarOf(filesOf(architecture), Number(lastChange())), 'muster', fast),
    ];
    writeImage(file, layers, {
      created: new Date(Number(lastChange()) * 1_000).toISOString(),
      architecture,
      reference: version.replaceAll('~', '-'),
      config: {
        Entrypoint: ['/usr/bin/muster'],
        Cmd: ['serve'],
        Env: [
          'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          'NODE_COMPILE_CACHE=/var/cache/muster',
        ],
        Volumes: { '/var/lib/muster': {} },
        ExposedPorts: { '8443/tcp': {} },
        StopSignal: 'SIGTERM',
        WorkingDir: '/',
        Labels: {
          'org.opencontainers.image.title': 'muster',
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.licenses': 'Apache-2.0',
        },
      },
    });
    return file;
  } finally {
    rmSync(staging, { recursive: true });
  }
}

/** Nothing in a container starts units. */
const isOfSystemd = (path: string): boolean => path.startsWith(debianPlaces.units) || path.includes('/tmpfiles.d/');

const settingsFile = '/etc/muster/muster.toml';

/** A container is reached through its network, so the service listens there and not on the address of the machine itself. */
function settingsText(text: string): string {
  const own = 'listen = ["127.0.0.1:8443"]';
  if (!text.includes(own)) throw new Error(`${settingsFile} has no line ${own}`);
  return text
    .replace(
      '# Where programs and browsers reach muster. This machine only:',
      '# Where programs and browsers reach muster.',
    )
    .replace(own, 'listen = ["0.0.0.0:8443"]');
}

const filesOf = (architecture: Architecture): PackageFile[] => [
  { path: '/run/muster', content: { directory: true }, mode: program },
  { path: '/var/lib/muster', content: { directory: true }, mode: 0o700 },
  { path: '/var/cache/muster', content: { directory: true }, mode: 0o700 },
  ...musterFiles(architecture, debianPlaces)
    .filter(({ path }) => !isOfSystemd(path))
    .map((file) =>
      file.path === settingsFile && 'file' in file.content
        ? { ...file, content: { text: settingsText(readFileSync(file.content.file, 'utf8')) } }
        : file,
    ),
  { path: '/usr/share/doc/muster/copyright', content: { text: copyright() } },
];
