import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Work } from '../../work/index.ts';
import { entryOf, explainingDisk, stagingFor } from '../image-job.ts';
import { checkStillReal } from '../real-paths.ts';
import { markerName, readMarker } from './place.ts';

export interface MediumRemoval {
  /** As copycds has defined it, such as debian12.5-x86_64. */
  readonly distro: string;
  /** Real paths. */
  readonly directories: readonly string[];
}

export interface RemovedMedium {
  readonly messages: readonly string[];
}

/** Removes the trees that copycds has made of install media. What it has not made stays. */
export async function work({ distro, directories }: MediumRemoval, task: Work): Promise<RemovedMedium> {
  const messages: string[] = [];
  for (const [at, directory] of directories.entries())
    messages.push(await explainingDisk(`${distro} cannot be removed`, directory, () => remove(directory, at, task)));
  for (const line of messages) task.tell(line);
  return { messages };
}

async function remove(directory: string, at: number, task: Work): Promise<string> {
  if (!entryOf(directory)?.isDirectory()) return `${directory} is not there any more.`;
  checkStillReal(directory);
  if (!readMarker(directory)) return `${directory} was not made by copycds (it has no ${markerName}) and stays.`;
  const staging = await stagingFor(directory, task, { movesOnly: true });
  await rename(directory, join(staging, `medium${at}`));
  return `${directory} has been removed.`;
}
