import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { type ImagePaths, type Images, listFileFor, packageLists, realPlace } from '../../images/index.ts';
import { readPackageLists, readRealText, withoutDirectories } from '../../nodes/index.ts';
import { imageOf, listFiles, type NodeImage } from '../../objects/node-image.ts';
import { overlayNames } from '../overlays/overlay-sources.ts';
import { autoinstall } from './autoinstall.ts';
import { autoyast } from './autoyast.ts';
import {
  type Access,
  type Asking,
  gatherFacts,
  type InstallFacts,
  type InstallSource,
  sourcesOf,
  wantedOf,
} from './facts.ts';
import { finishScript, installedScript } from './installed-script.ts';
import { type AnswerFile, type Installer, type InstallerName, installerOf, lines } from './installer.ts';
import { kickstart } from './kickstart.ts';
import { readPartitions } from './partition-files.ts';
import { preseed } from './preseed.ts';
import { Expansion, type ReadFile } from './template.ts';
import { checkViewer, type Viewer } from './viewer.ts';

/** The image that a node is installed from. */
function installedImage(snapshot: Snapshot, node: string): NodeImage {
  const image = imageOf(effectiveReader(snapshot), node);
  if (image.name === '') throw new Fault('invalid', 'The attribute provmethod of the node names no image.');
  if (image.method !== 'install')
    throw new Fault('invalid', `The image ${image.name} is not installed: its provmethod is "${image.method}".`);
  return image;
}

/** The answers for a node, with what lets people and us in. */
export async function answersFor(
  images: Images,
  snapshot: Snapshot,
  node: string,
  asking: Asking,
): Promise<AnswerFile[]> {
  const image = installedImage(snapshot, node);
  // Not all installers know the method that is best now.
  const rootPassword = await images.rootPassword(snapshot, image.name, 'sha512');
  return answersWith({ rootPassword, publicKey: images.publicKey }, images, snapshot, node, asking);
}

export const answersWith = (
  access: Access,
  { paths }: Images,
  snapshot: Snapshot,
  node: string,
  asking: Asking,
  viewer?: Viewer,
): Promise<AnswerFile[]> =>
  answerFiles({ snapshot, paths, node, image: installedImage(snapshot, node), ...asking, ...access, viewer });

/** What an installer asks for once the system is on the disk. */
export const endScripts: readonly string[] = ['installed.sh', 'finish.sh'];

export const installers: Readonly<Record<InstallerName, Installer>> = { kickstart, preseed, autoinstall, autoyast };

export interface AnswersWanted extends Asking, Access {
  readonly snapshot: Snapshot;
  readonly paths: ImagePaths;
  readonly node: string;
  readonly image: NodeImage;
  /** Somebody who looks at them; undefined: they are for the node. */
  readonly viewer?: Viewer | undefined;
}

/** The files that answer the questions of the installer of an image, for one node. They come from snapshot and templates alone. */
export async function answerFiles(wanted: AnswersWanted): Promise<AnswerFile[]> {
  const { snapshot, paths, image, viewer } = wanted;
  const read = readerOf(snapshot, paths, viewer);
  const reader = effectiveReader(snapshot);
  const installer = installers[installerOf(image)];
  const facts = await factsOf(wanted, read);
  const template = templateOf(paths.installDirectory(snapshot), image);
  const installdir = paths.installDirectory(snapshot);
  const basis = { reader, facts, installer, read, installdir, sees: viewer?.sees };
  const partitions = await readPartitions(basis);
  const body = await new Expansion({ ...basis, partitions }).file(template);
  const all = [...body, ...lines(...(installer.end?.(partitions, facts) ?? []))];
  return [
    { name: installer.file, text: await installer.write(all) },
    ...((await installer.others?.(partitions, facts)) ?? []),
    { name: 'installed.sh', text: installedScript(facts) },
    { name: 'finish.sh', text: finishScript(facts) },
  ];
}

/** Reads what images name, from where files of images may be. */
export const readerOf =
  (snapshot: Snapshot, paths: ImagePaths, viewer?: Viewer): ReadFile =>
  async (path, what) => {
    const real = paths.source(snapshot, path, what);
    if (viewer) await checkViewer(viewer, real, realPlace(paths.installDirectory(snapshot)));
    return readRealText(real, path);
  };

async function factsOf(wanted: AnswersWanted, read: ReadFile): Promise<InstallFacts> {
  const { snapshot, paths, node, image, server } = wanted;
  if (!/^[A-Za-z0-9.:[\]-]+$/.test(server))
    throw new Fault('invalid', `The server ${JSON.stringify(server)} is not a host name or an address.`);
  const reader = effectiveReader(snapshot);
  const stepsIn = async (files: readonly string[], attribute: string) =>
    readPackageLists(files, (path) => read(path, `${image.name}: ${attribute}`));
  const otherLists = listFiles(reader, image, 'otherpkglist', 'otherpkgs.pkglist');
  const others = (await stepsIn(otherLists, 'otherpkglist')).map(withoutDirectories);
  // The directory of other packages is in the attributes of every image that copycds made, also where there are none.
  const otherSources: readonly InstallSource[] =
    others.length === 0 ? [] : sourcesOf(snapshot, paths, image, 'otherpkgdir', server);
  return {
    ...gatherFacts(reader, node),
    node,
    image,
    server,
    token: wanted.token,
    rootPassword: wanted.rootPassword,
    publicKey: wanted.publicKey,
    sources: [...sourcesOf(snapshot, paths, image, 'pkgdir', server), ...otherSources],
    hasOverlay: overlayNames(reader, node).length > 0,
    packages: wantedOf([...(await stepsIn(packageLists(reader, image, 'install'), 'pkglist')), ...others]),
  };
}

/** The template that an image names, else the administrator's for its profile, else the one that comes with muster. */
export function templateOf(installdir: string, image: NodeImage): string {
  const named = image.attribute('template');
  if (named !== '') return named;
  const found = listFileFor(installdir, image, 'install', 'tmpl');
  if (found !== undefined) return found;
  const { os, profile } = image;
  throw new Fault(
    'invalid',
    `${image.name}: there is no template for the profile ${JSON.stringify(profile)} of ${os}; set its attribute template, or put ${profile}.tmpl into ${installdir}/custom/install.`,
  );
}
