import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const sources = join(import.meta.dirname, 'module');
const cache = join(import.meta.dirname, '../../../node_modules/.cache/muster-lab');
const flags = ['-O2', '-fPIC', '-shared', '-Wall', '-Wno-deprecated-declarations'];

/** The module for ipmi_sim, compiled when its source is new. Several processes may do so at the same time. */
export async function buildModule(): Promise<string> {
  const files = (await readdir(sources)).sort().map((name) => join(sources, name));
  const hash = createHash('sha256').update(flags.join(' '));
  for (const file of files) hash.update(await readFile(file));
  const module = join(cache, `labbmc-${hash.digest('hex').slice(0, 16)}.so`);
  if (existsSync(module)) return module;
  await mkdir(cache, { recursive: true });
  const directory = await mkdtemp(join(cache, 'build-'));
  try {
    const built = join(directory, 'labbmc.so');
    await promisify(execFile)('gcc', [
      ...flags,
      '-o',
      built,
      ...files.filter((file) => file.endsWith('.c')),
      '-lcrypto',
    ]);
    await rename(built, module);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return module;
}
