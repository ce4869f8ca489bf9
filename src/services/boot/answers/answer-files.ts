import type { Snapshot } from '../../../database/snapshot.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import { Fault } from '../../../core/errors.ts';
import type { ImagePaths } from '../../images/paths.ts';
import { readRealText } from '../../update/findings.ts';
import { listFiles, type NodeImage } from '../../update/node-image.ts';
import { readPackageLists, withoutDirectories } from '../../update/package-list.ts';
import { autoinstall } from './autoinstall.ts';
import { autoyast } from './autoyast.ts';
import { Expansion, type ReadFile } from './expand.ts';
import { type Access, type Asking, gatherFacts, type InstallFacts } from './facts.ts';
import { templateOf } from './find-template.ts';
import { installedScript } from './installed-script.ts';
import { type AnswerFile, type Installer, type InstallerName, installerOf } from './installer.ts';
import { type InstallSource, sourcesOf } from './install-source.ts';
import { kickstart } from './kickstart.ts';
import { wantedOf } from './packages.ts';
import { readDefinitions, readScripts } from './partition-files.ts';
import { lines } from './pieces.ts';
import { preseed } from './preseed.ts';

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
    throw new Fault('invalid', `The server ${JSON.stringify(server)} is no host.`);
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
