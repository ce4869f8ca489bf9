import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type MediumJob, type MediumMade, work } from '../../../src/images/media/copy-medium.ts';
import type { Work } from '../../../src/work/messages.ts';
import { directWork } from '../../harness/work.ts';

export interface Copied {
  readonly made: MediumMade;
  readonly lines: readonly string[];
}

/** Runs the work of copycds here; its stagings go afterwards, as they go with a run. */
export async function copyMedium(
  iso: string,
  installdir: string,
  given: Partial<MediumJob> = {},
  around: (task: Work, cancel: () => void) => Work = (task) => task,
): Promise<Copied> {
  const task = directWork();
  const job: MediumJob = {
    iso,
    named: iso,
    installdir,
    path: undefined,
    imagePlaces: [],
    inspects: false,
    makesImages: true,
    overwrites: true,
    ...given,
  };
  try {
    return {
      made: await work(
        job,
        around(task, () => task.cancel()),
      ),
      lines: task.lines,
    };
  } finally {
    task.end();
  }
}

/** All below a directory: modes and content of files, targets of links after an arrow. */
export function treeOf(directory: string, below = ''): Record<string, string> {
  const found: Record<string, string> = {};
  if (!existsSync(directory)) return found;
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    const status = lstatSync(path);
    const mode = (status.mode & 0o7777).toString(8);
    const shown = below + name;
    if (status.isSymbolicLink()) found[shown] = `-> ${readlinkSync(path)}`;
    else if (status.isDirectory()) Object.assign(found, { [`${shown}/`]: mode }, treeOf(path, `${shown}/`));
    else found[shown] = `${mode} ${readFileSync(path, 'latin1')}`;
  }
  return found;
}
