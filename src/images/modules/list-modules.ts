import { closeSync, lstatSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import { driverFiles, inflated } from '../build/kernel.ts';
import { explainingDisk } from '../image-job.ts';

export interface ModulesJob {
  /** Directories and files with drivers, and packages with them; judged. */
  readonly places: readonly string[];
  /** Where packages may be unpacked meanwhile. */
  readonly beside: string;
}

export interface ModulesFound {
  /** `NAME.ko: DESCRIPTION`, sorted. */
  readonly lines: readonly string[];
}

/** Finds the kernel modules in directories and packages, and says what each is. */
export const work = (job: ModulesJob, task: Work): Promise<ModulesFound> =>
  explainingDisk('The kernel modules cannot be listed', job.beside, () => list(job, task));

async function list({ places, beside }: ModulesJob, task: Work): Promise<ModulesFound> {
  const found = new Map<string, string>();
  const packages = places.filter(isPackage);
  const staging = packages.length > 0 ? await task.staging(beside) : undefined;
  for (const [at, place] of places.entries()) {
    task.progress(at, places.length);
    const inside = isPackage(place) ? await unpack(place, join(staging!, String(at)), task) : place;
    for (const file of driverFiles([inside])) {
      task.signal.throwIfAborted();
      const module = await inflated(task, file);
      if (module) found.set(basename(file).replace(/\.(gz|xz|zst)$/, ''), descriptionOf(module));
    }
  }
  return { lines: [...found].map(([name, text]) => `${name}: ${text}`).sort() };
}

const isPackage = (path: string): boolean => /\.(rpm|deb)$/.test(path) && lstatSync(path).isFile();

/** Only modules are taken out: nothing else of the package is of use here. */
async function unpack(file: string, into: string, task: Work): Promise<string> {
  mkdirSync(into);
  const archive = `${into}.archive`;
  const words = file.endsWith('.deb') ? ['dpkg-deb', '--fsys-tarfile', file] : ['rpm2cpio', file];
  const handle = openSync(archive, 'wx', 0o600);
  try {
    await task.program(words[0]!, words.slice(1), { stdout: (chunk) => void writeSync(handle, chunk) });
  } finally {
    closeSync(handle);
  }
  const patterns = ['*.ko', '*.ko.gz', '*.ko.xz', '*.ko.zst'];
  if (file.endsWith('.deb')) {
    const options = ['--extract', '--file', archive, '--no-same-owner', '--wildcards', ...patterns];
    // It complains about each pattern that nothing matches.
    await task.program('tar', options, { cwd: into, expect: [0, 2], output: () => undefined });
  } else {
    const options = ['--extract', '--make-directories', '--no-absolute-filenames', '--quiet', '--file', archive];
    await task.program('cpio', [...options, ...patterns], { cwd: into });
  }
  return into;
}

/** What the author of a module says of it, in its section .modinfo. */
function descriptionOf(module: Buffer): string {
  const mark = Buffer.from('\0description=');
  const at = module.indexOf(mark);
  if (at < 0) return '';
  const end = module.indexOf(0, at + mark.length);
  return module.toString('utf8', at + mark.length, end).replaceAll(/\p{Cc}/gu, ' ');
}

/** Only these can be searched. */
export function checkSearchable(path: string, what: string): void {
  const status = lstatSync(path);
  if (status.isDirectory() || (status.isFile() && /\.(rpm|deb|ko(\.(gz|xz|zst))?)$/.test(path))) return;
  throw new Fault('invalid', `${what} ${path} cannot be searched: it is no directory, package or kernel module.`);
}
