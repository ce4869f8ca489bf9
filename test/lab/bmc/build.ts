import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { keptOnce } from '../kept.ts';

const sources = join(import.meta.dirname, 'module');
const flags = ['-O2', '-fPIC', '-shared', '-Wall', '-Wno-deprecated-declarations'];

/** The module for ipmi_sim, compiled when its source is new. */
export async function buildModule(): Promise<string> {
  const files = (await readdir(sources)).sort().map((name) => join(sources, name));
  const hash = createHash('sha256').update(flags.join(' '));
  for (const file of files) hash.update(await readFile(file));
  return keptOnce(`labbmc-${hash.digest('hex').slice(0, 16)}.so`, async (directory) => {
    const built = join(directory, 'labbmc.so');
    const program = files.filter((file) => file.endsWith('.c'));
    await promisify(execFile)('gcc', [...flags, '-o', built, ...program, '-lcrypto']);
    return built;
  });
}
