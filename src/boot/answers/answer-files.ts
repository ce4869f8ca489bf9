import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { type ImagePaths, type Images, listFileFor } from '../../images/index.ts';
import { readPackageLists, readRealText, withoutDirectories } from '../../nodes/index.ts';
import { imageOf, listFiles, type NodeImage } from '../../objects/node-image.ts';
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
import { installedScript } from './installed-script.ts';
import { type AnswerFile, type Installer, type InstallerName, installerOf, lines } from './installer.ts';
import { kickstart } from './kickstart.ts';
import { readDefinitions, readScripts } from './partition-files.ts';
import { preseed } from './preseed.ts';
import { Expansion, type ReadFile } from './template.ts';

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
): Promise<AnswerFile[]> =>
  answerFiles({ snapshot, paths, node, image: installedImage(snapshot, node), ...asking, ...access });

const installers: Readonly<Record<InstallerName, Installer>> = { kickstart, preseed, autoinstall, autoyast };

export interface AnswersWanted extends Asking, Access {
  readonly snapshot: Snapshot;
  readonly paths: ImagePaths;
  readonly node: string;
  readonly image: NodeImage;
}

/** The files that answer the questions of the installer of an image, for one node. They come from snapshot and templates alone. */
export async function answerFiles(wanted: AnswersWanted): Promise<AnswerFile[]> {
  const { snapshot, paths, image } = wanted;
  const read: ReadFile = async (path, what) => readRealText(paths.source(snapshot, path, what), path);
  const reader = effectiveReader(snapshot);
  const installer = installers[installerOf(image)];
  const facts = await factsOf(wanted, read);
  const template = templateOf(paths.installDirectory(snapshot), image);
  const partitionFile = image.attribute('partitionfile');
  const basis = { reader, facts, installer, read, installdir: paths.installDirectory(snapshot) };
  const scripts = await readScripts(partitionFile, image.name, read);
  const definitions = await readDefinitions(
    partitionFile,
    image.name,
    new Expansion({ ...basis, partitions: scripts }),
  );
  const partitions = { ...scripts, ...definitions };
  const body = await new Expansion({ ...basis, partitions }).file(template);
  const all = [...body, ...lines(...(installer.end?.(partitions, facts) ?? []))];
  return [
    { name: installer.file, text: await installer.write(all) },
    ...((await installer.others?.(partitions, facts)) ?? []),
    { name: 'installed.sh', text: installedScript(facts) },
  ];
}

async function factsOf(wanted: AnswersWanted, read: ReadFile): Promise<InstallFacts> {
  const { snapshot, paths, node, image, server } = wanted;
  if (!/^[A-Za-z0-9.:[\]-]+$/.test(server))
    throw new Fault('invalid', `The server ${JSON.stringify(server)} is not a host name or an address.`);
  const reader = effectiveReader(snapshot);
  const lists = async (attribute: string, ending: string) =>
    readPackageLists(listFiles(reader, image, attribute, ending), (path) => read(path, `${image.name}: ${attribute}`));
  const others = (await lists('otherpkglist', 'otherpkgs.pkglist')).map(withoutDirectories);
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
    packages: wantedOf([...(await lists('pkglist', 'pkglist')), ...others]),
  };
}

/** The template that an image names, else the administrator's for its profile, else the one that comes with muster. */
function templateOf(installdir: string, image: NodeImage): string {
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
