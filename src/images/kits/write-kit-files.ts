import { lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { checkSafeDirectory, writeFileAtomically } from '../../core/files.ts';
import type { Work } from '../../work/index.ts';
import { entryOf, explainingDisk } from '../image-job.ts';
import { checkStillReal } from '../real-paths.ts';
import { kitMarker } from './add-kit.ts';
import type { KitFiles } from './kit-files.ts';

export interface KitFilesJob {
  readonly image: string;
  readonly files: KitFiles;
  readonly messages: readonly string[];
}

export interface KitFilesWritten {
  readonly messages: readonly string[];
}

/** Writes what kits give to an image, before its definition names it. */
export const work = ({ image, files, messages }: KitFilesJob, task: Work): Promise<KitFilesWritten> =>
  explainingDisk(`The kits of ${image} cannot be changed`, files.directory, async () => {
    for (const message of messages) task.tell(message);
    writeKitFiles(files);
    return { messages };
  });

export function writeKitFiles({ directory, texts, links }: KitFiles): void {
  for (const [link, target] of links) checkLink(link, target);
  makeDirectories(directory);
  for (const [name, text] of Object.entries(texts)) {
    if (text === '') rmSync(join(directory, name), { force: true });
    else writeFileAtomically(join(directory, name), text, text.startsWith('#!') ? 0o755 : 0o644);
  }
  for (const [link, target] of links) {
    if (isLinkTo(link, target)) continue;
    makeDirectories(dirname(link));
    rmSync(link, { force: true });
    symlinkSync(target, link);
  }
}

function makeDirectories(directory: string): void {
  checkStillReal(directory);
  checkSafeDirectory(directory);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
}

export const isLinkTo = (link: string, target: string): boolean =>
  entryOf(link)?.isSymbolicLink() === true && readlinkSync(link) === target;

function checkLink(link: string, target: string): void {
  if (!lstatSync(target, { throwIfNoEntry: false })?.isDirectory())
    throw new Fault('invalid', `The repository ${target} of the kit is not there. Remove the kit and add it again.`);
  if (entryOf(link) && !isLinkTo(link, target) && !leadsToKit(link))
    throw new Fault(
      'invalid',
      `${link} must become a link to the repository of the kit, and something else has that name. Move it away.`,
    );
}

/** Whether it is a link to a repository that addkit has unpacked; others are the site's own. */
const leadsToKit = (link: string): boolean =>
  entryOf(link)?.isSymbolicLink() === true &&
  entryOf(join(resolve(dirname(link), readlinkSync(link)), '../..', kitMarker)) !== undefined;
