import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf } from '../build/fingerprint.ts';
import type { Manifest } from '../manifest.ts';
import type { PackJob } from './pack-job.ts';

/**
 * Says of a pack what it was made from: the tree as muster left it, and all that packing adds. Undefined: that is not known, since
 * somebody else made the tree and may change it at any time.
 */
export function packInputs(job: PackJob, { source, made, runs, files }: Manifest): string | undefined {
  if (source.kind === 'found') return undefined;
  const { method, compress, exclusions, password, key, sync, toDisk } = job;
  const roots = sync.flatMap(({ copies, appends, merges }) =>
    [...copies, ...appends, ...merges].flatMap((rule) => rule.roots.map(({ real }) => real)),
  );
  const states = [...new Set(roots)].map((path) => statesBelow(path));
  return hashOf([made, runs, files, method, compress, exclusions, password, key, toDisk, sync, states]);
}

/** Of a file or directory and all that is in it: mode, owner, size and times; not its content, which may be large. */
function statesBelow(path: string): unknown {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return undefined;
  const { mode, uid, gid, size, mtimeMs, ctimeMs } = stats;
  if (!stats.isDirectory()) return [mode, uid, gid, size, mtimeMs, ctimeMs];
  const names = readdirSync(path).sort();
  return [mode, uid, gid, names.map((name) => [name, statesBelow(join(path, name))])];
}
