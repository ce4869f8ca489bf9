import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { writeFileAtomically } from '../../core/files.ts';
import { openReal } from '../../core/open-real.ts';
import { syncFileSystem } from '../../core/sync-file-system.ts';
import { installerProblem } from '../../objects/distributions.ts';
import type { Work } from '../../work/index.ts';
import { manifestFile } from '../manifest.ts';
import { checkStillReal } from '../real-paths.ts';
import { linkTree } from '../tree/private-tree.ts';
import { buildTree, type Verification } from './build-tree.ts';
import { mediumChecksums, wholeSumOf } from './checksums.ts';
import { type ImageMade, imagesFor } from './images-made.ts';
import { IsoFile } from './iso/iso-file.ts';
import { Medium, type Release } from './medium.ts';
import { ownSystem } from './own-system.ts';
import {
  directoriesOf,
  discPlace,
  existingAbove,
  fingerprintOf,
  isComplete,
  lastOf,
  markerName,
  type Present,
  presentAt,
  putInPlace,
  readMarker,
  checkImagePlaces,
  type ImagePlace,
} from './place.ts';
import { osName, recogniseMedium, type Said } from './recognise.ts';

/** What a medium is, in the words of the reference system. */
const mediumLines = ({ contents }: Medium, release: Release): string[] => [
  `DISTNAME:${osName(release)}`,
  `ARCH:${release.arch}`,
  `DISCNO:${release.disc}`,
  `The medium has ${contents.files.length} files.`,
];

/** What could be verified, and what could not. */
function verificationLines({ contents }: Medium, { files, whole }: Verification): string[] {
  // A list has no checksum of itself.
  const all = contents.files.filter(({ path }) => !files.lists.includes(path)).length;
  const verified = [...files.ofFiles.keys()].filter((path) => !files.lists.includes(path)).length;
  const by = files.lists.map((list) => `/${list}`).join(' and ');
  return [
    ...(whole ? ['The medium as a whole matches the MD5 sum in it.'] : []),
    ...(verified > 0 ? [`${verified} of its ${all} files match ${by} of the medium.`] : []),
    ...(!whole && verified === 0
      ? [`None of its ${all} files could be verified: the medium has no checksums of them.`]
      : !whole && verified < all
        ? [`${all - verified} files could not be verified: the medium has no checksums of them.`]
        : []),
    ...(files.absent > 0 ? [`The medium has checksums of ${files.absent} files that are not on it.`] : []),
  ];
}

/** `debian12.12-x86_64` */
function ownName(): string | undefined {
  const own = ownSystem();
  return own && `${own.os}-${own.arch}`;
}

/** Files by which muster knows what it made itself. */
const ownNames: readonly string[] = [markerName, manifestFile];

export interface MediumJob extends Said {
  /** The real path of the medium, and the path that was given. */
  readonly iso: string;
  readonly named: string;
  readonly installdir: string;
  /** Where the tree is to be instead of INSTALLDIR/os/arch. */
  readonly path: string | undefined;
  readonly imagePlaces: readonly ImagePlace[];
  readonly inspects: boolean;
  readonly makesImages: boolean;
  readonly overwrites: boolean;
}

export interface MediumMade {
  readonly inspected: boolean;
  readonly os: string;
  readonly release: Release;
  /** Where the discs of the release are. */
  readonly directories: readonly string[];
  readonly images: readonly ImageMade[];
  readonly messages: readonly string[];
}

/** Copies an install medium and reports the outcome. */
export async function work(job: MediumJob, task: Work): Promise<MediumMade> {
  const file = await openMedium(job);
  try {
    const medium = new Medium(new IsoFile(file.fd, job.named));
    const release = recogniseMedium(medium, job);
    const os = osName(release);
    const found = mediumLines(medium, release);
    for (const line of found) task.tell(line);
    if (job.inspects) return { inspected: true, os, release, directories: [], images: [], messages: found };
    const tree = job.path ?? join(job.installdir, os, release.arch);
    checkRelease(tree, os, release.arch);
    const place = discPlace(tree, release.disc);
    const messages = await explainingDisk(place, () => copy(job, task, medium, release, place));
    const directories = directoriesOf(tree);
    const { installdir } = job;
    const images = job.makesImages ? imagesFor({ release, os, installdir, directories, own: ownName() }) : [];
    const problem = installerProblem(os);
    if (problem !== undefined) task.tell(problem);
    const all = [...found, ...messages, ...(problem === undefined ? [] : [problem])];
    return { inspected: false, os, release, directories, images, messages: all };
  } finally {
    await file.close();
  }
}

async function openMedium({ iso, named }: MediumJob) {
  try {
    return await openReal(iso);
  } catch (error) {
    throw new Fault(
      'invalid',
      `The medium ${named} cannot be read on the management node: ${(error as Error).message}. Make sure that it is there and complete.`,
      { cause: error },
    );
  }
}

/** Media share a tree only if they are of one release: what is installed from it must not become something else. */
function checkRelease(tree: string, os: string, arch: string): void {
  for (const directory of directoriesOf(tree)) {
    const { os: other, arch: otherArch } = readMarker(directory)!;
    if (other !== os || otherArch !== arch)
      throw new Fault(
        'invalid',
        `${directory} is the tree of ${other} for ${otherArch}, and the medium is ${os} for ${arch}; give another path with -p.`,
      );
  }
}

/** A disk that is full or fails is no fault of ours. */
async function explainingDisk<T>(place: string, copying: () => Promise<T>): Promise<T> {
  try {
    return await copying();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof Fault || code === undefined || !/^E[A-Z]+$/.test(code)) throw error;
    const reason = code === 'ENOSPC' || code === 'EDQUOT' ? 'there is no space left on the disk' : message;
    throw new Fault('unavailable', `${place} could not be made: ${reason}. Nothing was changed; try again.`, {
      cause: error,
    });
  }
}

/** Brings the medium to its place, and says what was done. */
async function copy(job: MediumJob, task: Work, medium: Medium, release: Release, place: string): Promise<string[]> {
  const { files, links } = medium.contents;
  const own = [...files, ...links].find(({ path }) => ownNames.includes(basename(path)));
  if (own) throw medium.iso.broken(`it has a file "${own.path}", a name that is muster's own`);
  checkStillReal(place);
  const present = presentAt(place);
  const marker = present.kind === 'tree' ? present.marker : undefined;
  const fingerprint = fingerprintOf(medium);
  const { [fingerprint]: _, ...others } = marker?.media ?? {};
  if (lastOf(marker) === fingerprint && isComplete(place, medium)) {
    const line = `All of it is in ${place} already.`;
    task.tell(line);
    return [line];
  }
  if (present.kind === 'tree' && !job.overwrites)
    throw new Fault('invalid', `${place} exists already, and -w forbids changing it.`);
  checkImagePlaces(place, job.imagePlaces);
  const verification: Verification = {
    files: mediumChecksums(medium),
    whole: wholeSumOf(medium.iso, medium.contents.volume.blocks),
  };
  if (job.path === undefined) mkdirSync(job.installdir, { recursive: true, mode: 0o755 });
  const made = join(await task.staging(existingAbove(place)), 'tree');
  await beginWith(present, place, made, task);
  await buildTree(made, medium, verification, task);
  const media = { ...others, [fingerprint]: new Date().toISOString() };
  const content = { os: osName(release), arch: release.arch, media };
  writeFileAtomically(join(made, markerName), `${JSON.stringify(content, undefined, 2)}\n`, 0o644);
  // What takes its place is all there, also after a power cut.
  await syncFileSystem(made);
  task.signal.throwIfAborted();
  putInPlace(made, place, present);
  const lines = [`Copied to ${place}.`, ...verificationLines(medium, verification)];
  for (const line of lines) task.tell(line);
  return lines;
}

/** A medium that comes to a tree of others is put over a copy of it that shares its files. */
async function beginWith(present: Present, place: string, made: string, task: Work): Promise<void> {
  if (present.kind === 'tree') await linkTree(task, place, made);
  else mkdirSync(made, { mode: 0o755 });
}
