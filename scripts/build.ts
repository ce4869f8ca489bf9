// Makes dist/: all that muster starts as a process or thread, as JavaScript that needs no other package than `unbundled`. Run by
// setup.mjs. A build is known by its content and lies in a directory of its own, so that a running server keeps the one it was started from.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { builtName } from '../src/core/home.ts';
import { bundleConsole } from './build-console.ts';

/** Modules that something starts with, by their paths in src. */
export const programs = [
  'main',
  'cli/main',
  'accounts/pam/helper',
  'database/sqlite/worker',
  'database/sqlite/integrity-thread',
  'work/child',
  'images/build/gen',
  'images/build/run',
  'images/bundles/export',
  'images/bundles/import',
  'images/containers/pull',
  'images/media/copy-medium',
  'images/media/copy-thread',
  'images/pack/pack',
  'images/pack/rollback',
  'images/pack/tag',
  'images/removal',
  'images/media/remove-medium',
  'images/capture/capture',
  'images/modules/list-modules',
  'images/kits/add-kit',
  'images/kits/remove-kit',
  'images/kits/write-kit-files',
];

/** Packages, and a scope of them, that stay in node_modules because they load native code by the place where they lie. */
export const unbundled = ['better-sqlite3', 'koffi', '@koromix'];

/** Native code that packages try to load and do without: faster ciphers of ssh2, another client of PostgreSQL. */
const optionalParts = [/\.node$/, 'cpu-features', 'pg-native'];

const checkout = join(import.meta.dirname, '..');
const builds = join(checkout, '.cache/builds');
/** Milliseconds for which a build is kept that nobody has used: a server that runs from it touches it every hour. */
const kept = 7 * 24 * 3_600_000;

/** Every file of these programs by its name. */
async function bundle(modules: readonly string[]): Promise<Map<string, string>> {
  const input = Object.fromEntries(
    modules.map((module) => [builtName(module).slice(0, -'.js'.length), join(checkout, `src/${module}.ts`)]),
  );
  const made = await rolldown({
    input,
    platform: 'node',
    external: [/^node:/, ...unbundled, ...optionalParts],
    // This and `minify` would remove calls that are made for the error they may throw, such as decodeURIComponent of what a client sent.
    treeshake: false,
    checks: { ineffectiveDynamicImport: false },
    // Packages in CommonJS that ask where they lie.
    transform: { define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' } },
  });
  const { output } = await made.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    minify: false,
    sourcemap: true,
    // Stack traces name files as somebody who reads the sources looks for them.
    sourcemapPathTransform: (source, map) => relative(checkout, resolve(dirname(map), source)),
    comments: { legal: false },
  });
  await made.close();
  return new Map(output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : String(file.source)]));
}

function write(files: ReadonlyMap<string, string | Buffer>): string {
  const hash = createHash('sha256');
  for (const [name, text] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${name}\0`).update(text).update('\0');
  const directory = join(builds, hash.digest('hex').slice(0, 16));
  if (existsSync(directory)) return directory;
  const staging = `${directory}.${process.pid}`;
  mkdirSync(join(staging, 'web'), { recursive: true });
  for (const [name, text] of files) writeFileSync(join(staging, name), text);
  try {
    renameSync(staging, directory);
  } catch (error) {
    // Somebody else has made the same build meanwhile.
    if (!existsSync(directory)) throw error;
    rmSync(staging, { recursive: true });
  }
  return directory;
}

/** `began`: what changes while it is read counts as newer than the build. */
function pointTo(directory: string, began: Date): void {
  writeFileSync(join(directory, 'made'), '');
  utimesSync(join(directory, 'made'), began, began);
  const link = join(checkout, `dist.${process.pid}`);
  rmSync(link, { force: true });
  symlinkSync(relative(checkout, directory), link);
  renameSync(link, join(checkout, 'dist'));
}

function removeOld(current: string): void {
  for (const name of readdirSync(builds)) {
    const directory = join(builds, name);
    const made = statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (directory !== current && Date.now() - made > kept) rmSync(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  // All users of the machine run it, whoever makes it.
  process.umask(0o022);
  const began = new Date();
  // The server apart: what it has in common with other programs would be in many small files, which take a tenth of a start to find.
  const others = programs.filter((module) => module !== 'main');
  const built = await Promise.all([bundle(['main']), bundle(others), bundleConsole()]);
  const directory = write(new Map(built.flatMap((files) => [...files])));
  pointTo(directory, began);
  removeOld(directory);
}
