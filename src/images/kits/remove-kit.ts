import { rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { readOptional } from '../../core/files.ts';
import type { Work } from '../../work/index.ts';
import { entryOf, explainingDisk, stagingFor } from '../image-job.ts';
import { checkStillReal } from '../real-paths.ts';
import { isOfKit } from './add-kit.ts';
import { otherFilesName } from './kit-conf.ts';
import type { KitFiles } from './kit-files.ts';
import { isLinkTo, writeKitFiles } from './write-kit-files.ts';

export interface KitRemoval {
  readonly kit: string;
  /** The real path; absent: the definition names none. */
  readonly directory?: string;
  readonly postscripts: string;
  /** Scripts that no other kit has. */
  readonly scripts: readonly string[];
  /** Of images that had components of it. */
  readonly files: readonly KitFiles[];
  /** Links to its repositories, as far as they exist. */
  readonly links: readonly (readonly [link: string, target: string])[];
}

export interface KitRemoved {
  readonly messages: readonly string[];
}

/** Removes what addkit has made, and what images had of it. What it has not made stays. */
export const work = (job: KitRemoval, task: Work): Promise<KitRemoved> =>
  explainingDisk(`The kit ${job.kit} cannot be removed`, job.directory ?? job.postscripts, () => remove(job, task));

async function remove(job: KitRemoval, task: Work): Promise<KitRemoved> {
  const { kit, directory, postscripts, scripts, files, links } = job;
  const messages: string[] = [];
  const tell = (message: string): void => {
    messages.push(message);
    task.tell(message);
  };
  tell(`Removing kit ${kit}`);
  if (files.length > 0) tell('Removing kit components from images');
  for (const each of files) writeKitFiles(each);
  for (const [link, target] of links) if (isLinkTo(link, target)) rmSync(link);
  for (const script of scripts) {
    const text = directory === undefined ? undefined : readOptional(join(directory, otherFilesName, script));
    if (text === undefined || readOptional(join(postscripts, script)) !== text) continue;
    tell(`Removing kit script ${join(postscripts, script)}`);
    rmSync(join(postscripts, script));
  }
  if (directory === undefined || !entryOf(directory)?.isDirectory()) return { messages };
  checkStillReal(directory);
  if (isOfKit(directory, kit)) {
    tell(`Removing kitdir ${directory}`);
    const staging = await stagingFor(directory, task, { movesOnly: true });
    await rename(directory, join(staging, 'kit'));
  } else tell(`${directory} was not made by addkit and stays.`);
  return { messages };
}
