import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { listItems } from '../../core/list-items.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import { installDirectory, listFiles, type NodeImage } from '../../objects/node-image.ts';
import { type PackageStep, readPackageLists, readRealText, usable, withoutDirectories } from '../../nodes/index.ts';
import { describeDiskless } from '../describe-image.ts';
import type { Images } from '../images.ts';
import type { Used } from '../manifest.ts';
import { packageLists } from '../package-lists.ts';
import { architecture, familyOf, suiteOf, platformOf } from '../../objects/distributions.ts';
import { hashFile } from './fingerprint.ts';
import type { GenJob, Wanted } from './gen-job.ts';
import { type PackageSource, parseSources, withUpdates } from './package-sources.ts';

export interface GenOptions {
  readonly by: string;
  readonly anew: boolean;
}

function listsOf(reader: EffectiveReader, image: NodeImage): readonly string[] {
  const found = packageLists(reader, image, 'netboot');
  if (found.length > 0) return found;
  const { name, os, profile } = image;
  throw new Fault(
    'invalid',
    `${name}: there is no list of packages for the profile ${JSON.stringify(profile)} of ${os}; set its attribute pkglist, or put ${profile}.pkglist into ${installDirectory(reader)}/custom/netboot/${platformOf(os)}.`,
  );
}

/** Reads all that an image is built from and refuses what cannot be built. */
export async function planGen(snapshot: Snapshot, images: Images, name: string, options: GenOptions): Promise<GenJob> {
  const { image, job } = describeDiskless(snapshot, images, name, options.by);
  architecture(job.osarch);
  const family = familyOf(job.osvers);
  const suite = family === 'apt' ? suiteOf(job.osvers) : undefined;
  const admit = (attribute: string) => (path: string) => images.paths.source(snapshot, path, `${name}: ${attribute}`);
  const sources = (attribute: string) =>
    parseSources(image.attribute(attribute), `${name}: ${attribute}`, admit(attribute));
  const lists: Used[] = [];
  const read = async (path: string): Promise<string> => {
    const text = await readRealText(admit('pkglist')(path), path);
    lists.push({ path, sha256: createHash('sha256').update(text).digest('hex') });
    return text;
  };
  const reader = effectiveReader(snapshot);
  const paths = listsOf(reader, image);
  const others = await readPackageLists(listFiles(reader, image, 'otherpkglist', 'otherpkgs.pkglist'), read);
  const packages: Wanted = {
    sources: withUpdates([...sources('pkgdir'), ...sources('kerneldir')], suite),
    steps: await readPackageLists(paths, read),
  };
  if (packages.sources.length === 0)
    throw new Fault(
      'invalid',
      `${name}: pkgdir must name where the packages come from: directories or URLs of repositories.`,
    );
  for (const { environment } of [...packages.steps, ...others]) checkEnvironment(environment, name);
  const permission = image.attribute('permission') || '755';
  if (!/^0?[0-7]{3}$/.test(permission))
    throw new Fault('invalid', `${name}: permission ${JSON.stringify(permission)} is not a mode such as 755.`);
  return {
    ...job,
    lists,
    permission: Number.parseInt(permission, 8),
    anew: options.anew,
    recipe: {
      family,
      osvers: job.osvers,
      osarch: job.osarch,
      ...(suite === undefined ? {} : { suite: suite }),
      packages,
      others: {
        sources: others.length === 0 ? [] : withSubdirectories(sources('otherpkgdir'), others, admit('otherpkgdir')),
        steps: others.map(withoutDirectories),
      },
      postinstall: await scriptsOf(image, admit('postinstall')),
      kernelver: image.attribute('kernelver'),
      netdrivers: listItems(image.attribute('netdrivers')).map((each) => moduleWord(each, name)),
      drivers: listItems(image.attribute('driverupdatesrc')).map((each) =>
        admit('driverupdatesrc')(driverPath(each, name)),
      ),
      method: image.method,
    },
  };
}

/** A package `extra/tool` lies in the repository `extra` below otherpkgdir, one without a directory in otherpkgdir itself. */
function withSubdirectories(
  sources: readonly PackageSource[],
  steps: readonly PackageStep[],
  admit: (path: string) => string,
): PackageSource[] {
  const names = steps.flatMap(({ install }) => install);
  const below = [...new Set(names.map((each) => each.slice(0, each.lastIndexOf('/') + 1)))];
  if (below.length === 0) return [...sources];
  return below.flatMap((directory): PackageSource[] => {
    if (directory === '') return [...sources];
    const places = sources.map((source): PackageSource => {
      const inside = directory.slice(0, -1);
      return source.kind === 'url'
        ? { ...source, url: `${source.url}/${inside}` }
        : { kind: 'directory', path: `${source.path}/${inside}` };
    });
    // Of several directories one has the repository.
    const found = places.filter((place) => place.kind === 'url' || existsSync(place.path));
    return (found.length > 0 ? found : places.slice(0, 1)).map((place) =>
      place.kind === 'url' ? place : { ...place, path: admit(place.path) },
    );
  });
}

const scriptsOf = (image: NodeImage, admit: (path: string) => string): Promise<Used[]> =>
  Promise.all(
    listItems(image.attribute('postinstall')).map(async (given) => {
      const path = admit(given);
      return { path, sha256: await hashFile(path) };
    }),
  );

function checkEnvironment(environment: Readonly<Record<string, string>>, image: string): void {
  const wrong = Object.keys(environment).find((name) => !usable(name));
  if (wrong !== undefined)
    throw new Fault(
      'invalid',
      `${image}: a list sets the variable ${wrong}, which programs depend on; remove it from the list.`,
    );
}

function moduleWord(text: string, image: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9_-]*(\.ko)?$/.test(text)) return text;
  throw new Fault('invalid', `${image}: netdrivers: ${JSON.stringify(text)} is not the name of a driver.`);
}

/** `dir:/path` and a path alone; packages and driver disks have to be unpacked first. */
function driverPath(text: string, image: string): string {
  const prefix = /^([a-z]+):/.exec(text)?.[1];
  if (prefix === undefined || prefix === 'dir') return text.replace(/^dir:/, '');
  throw new Fault(
    'invalid',
    `${image}: driverupdatesrc: ${text} cannot be read; unpack the .ko files into a directory and name that.`,
  );
}
