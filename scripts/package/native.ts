// Node and the packages with native code, for the architecture of a package. Those of this machine are in node_modules; those of another
// come from the npm registry, and are checked by what package-lock.json has of them.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type PackageFile, filesBelow, program } from './files.ts';

export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** What npm calls it. */
const npmName: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' };

export const ownArchitecture: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

const checkout = join(import.meta.dirname, '../..');
const modules = join(checkout, 'node_modules');

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
}

/** The directory of a package of the lock file, which exists for one architecture only. */
function fetched(name: string): string {
  const installed = join(modules, name);
  if (existsSync(join(installed, 'package.json'))) return installed;
  const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, LockedPackage>>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (!locked) throw new Error(`package-lock.json has no ${name}`);
  const kept = join(checkout, '.cache/packages', `${name.replace('/', '-')}-${locked.version}`);
  if (existsSync(kept)) return join(kept, 'package');
  const staging = `${kept}.${process.pid}`;
  mkdirSync(staging, { recursive: true });
  try {
    const packed = execFileSync('npm', ['pack', '--silent', `${name}@${locked.version}`], {
      cwd: staging,
      encoding: 'utf8',
    });
    const archive = join(staging, packed.trim());
    const [algorithm = '', expected = ''] = locked.integrity.split('-');
    const found = createHash(algorithm).update(readFileSync(archive)).digest('base64');
    if (found !== expected) throw new Error(`${name} from the npm registry is not the one of package-lock.json`);
    execFileSync('tar', ['-xzf', archive, '-C', staging]);
    rmSync(archive);
    renameSync(staging, kept);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return join(kept, 'package');
}

/** Below the directory of muster. */
export function nativeFiles(home: string, architecture: Architecture): PackageFile[] {
  const npm = npmName[architecture];
  const at = (...path: string[]): string => join(home, 'node_modules', ...path);
  const koffi = `@koromix/koffi-linux-${npm}`;
  const scripts = (name: string, more: readonly string[] = []): PackageFile[] =>
    filesBelow(
      join(modules, name),
      at(name),
      (file) => /^(package\.json|LICENSE[^/]*|(lib|src|index|indirect)\b.*\.c?js)$/.test(file) || more.includes(file),
    );
  const node = fetched(`node-linux-${npm}`);
  return [
    { path: at('.bin/node'), content: { file: join(node, 'bin/node') }, mode: program },
    { path: at('.bin/LICENSE'), content: { file: join(node, 'LICENSE') } },
    ...scripts('better-sqlite3', [`prebuilds/linux-${npm}.node`]),
    ...scripts('koffi'),
    ...filesBelow(fetched(koffi), at(koffi), (file) => !file.startsWith('musl')),
  ];
}
