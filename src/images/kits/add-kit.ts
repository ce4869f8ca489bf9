import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { readOptional, writeFileAtomically } from '../../core/files.ts';
import { syncFileSystem } from '../../core/sync-file-system.ts';
import type { Work } from '../../work/index.ts';
import { entryOf, explainingDisk, putInPlace, stagingFor } from '../image-job.ts';
import {
  checkKitConf,
  type KitAttributes,
  type KitConf,
  kitConfName,
  otherFilesName,
  parseKitConf,
  scriptsOf,
} from './kit-conf.ts';

/** Lies in every directory that addkit has made, and says which kit is in it. */
export const kitMarker = '.muster-kit.json';

export interface KitJob {
  /** A tar archive, or a directory with the same content; the real path. */
  readonly file: string;
  /** Kits lie in it, each in a directory of its name. */
  readonly directory: string;
  /** Scripts for nodes lie in it. */
  readonly postscripts: string;
  readonly inspects: boolean;
  /** Names that are taken, by the type of object. */
  readonly taken: Readonly<Record<'kit' | 'kitrepo' | 'kitcomponent', readonly string[]>>;
}

/** A kit as it is to be defined. */
export interface KitMade {
  readonly kit: KitAttributes;
  readonly repos: readonly KitAttributes[];
  readonly components: readonly KitAttributes[];
}

export type KitAdded = { readonly made?: KitMade };

/** Unpacks a kit to its place, with its scripts; or only says what it is. */
export const work = (job: KitJob, task: Work): Promise<KitAdded> =>
  explainingDisk(`The kit ${job.file} cannot be added`, job.directory, () => add(job, task));

async function add(job: KitJob, task: Work): Promise<KitAdded> {
  const staging = await stagingFor(join(job.directory, 'kit'), task);
  const made = await unpack(job, task, staging);
  const conf = parseKitConf(readKitConf(made, job.file), job.file);
  checkKitConf(conf, job.file);
  if (job.inspects) {
    describe(conf, task);
    return {};
  }
  const name = conf.kit['kitname']!;
  task.tell(`Adding Kit ${name}`);
  checkFree(job, conf);
  settle(made, job.file);
  checkFiles(made, conf, job.file);
  if (entryOf(join(made, 'plugins')))
    task.tell(`The plug-ins of ${name} stay in its directory: muster runs no plug-ins of kits.`);
  const scripts = newScripts(job, made, conf);
  writeFileSync(join(made, kitMarker), `${JSON.stringify({ kit: name })}\n`);
  await syncFileSystem(made);
  task.signal.throwIfAborted();
  const place = join(job.directory, name);
  await moveAwayLeftover(place, name, join(staging, 'leftover'));
  await putInPlace(made, place);
  try {
    for (const [script, text] of scripts) writeFileAtomically(join(job.postscripts, script), text, 0o755);
  } catch (error) {
    await rm(place, { recursive: true });
    throw error;
  }
  return { made: definitionOf(conf, place) };
}

/** The directory in which the content of the kit is. */
async function unpack({ file, inspects }: KitJob, task: Work, staging: string): Promise<string> {
  const into = join(staging, 'unpacked');
  mkdirSync(into, { mode: 0o755 });
  if (lstatSync(file).isDirectory()) {
    await task.program('cp', ['-r', '--no-dereference', '--reflink=auto', '--', file, join(into, 'kit')]);
    return join(into, 'kit');
  }
  const only = inspects ? ['--wildcards', '--no-anchored', kitConfName] : [];
  const { code } = await task.program(
    'tar',
    ['--extract', '--file', file, '--directory', into, '--no-same-owner', '--no-same-permissions', ...only],
    { expect: [0, 2] },
  );
  const [top, second] = readdirSync(into);
  if (code !== 0 || top === undefined || second !== undefined || !entryOf(join(into, top))?.isDirectory())
    throw new Fault(
      'invalid',
      `${file} is no kit: it must be a tar archive, compressed or not, with one directory in it, in which ${kitConfName} is.`,
    );
  return join(into, top);
}

const longestConf = 1 << 20;

function readKitConf(made: string, file: string): string {
  const status = entryOf(join(made, kitConfName));
  if (!status?.isFile() || status.size > longestConf)
    throw new Fault('invalid', `${file} is no kit: there is no file ${kitConfName} of at most 1 MiB in its directory.`);
  return readFileSync(join(made, kitConfName), 'utf8');
}

function describe({ kit, framework, frameworks }: KitConf, task: Work): void {
  task.tell(`kitname=${kit['kitname']}`);
  for (const attribute of ['description', 'version', 'ostype']) task.tell(`    ${attribute}=${kit[attribute] ?? ''}`);
  if (framework !== undefined) task.tell(`    kitframework=${framework}`);
  if (frameworks.length > 0) task.tell(`    compatible_kitframeworks=${frameworks.join(',')}`);
}

function checkFree({ taken, file }: KitJob, { kit, repos, components }: KitConf): void {
  const wanted = [
    ['kit', kit['kitname']!],
    ...repos.map((repo) => ['kitrepo', repo['kitreponame']!]),
    ...components.map((component) => ['kitcomponent', component['kitcompname']!]),
  ] as ['kit' | 'kitrepo' | 'kitcomponent', string][];
  const other = wanted.find(([type, name]) => taken[type].includes(name));
  if (!other) return;
  const [type, name] = other;
  throw new Fault(
    'invalid',
    `${file} was not added: the ${type} ${name} exists already. DELETE /kits/KIT removes a kit.`,
  );
}

/** Only plain files and directories, with the permissions that all who read them need. */
function settle(directory: string, file: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) settle(path, file);
    else if (entry.isFile()) chmodSync(path, lstatSync(path).mode & 0o100 ? 0o755 : 0o644);
    else
      throw new Fault('invalid', `${file}: ${basename(path)} is a link or a device; kits hold files and directories.`);
  }
}

/** All that components name must be there: nobody wants to find out when the image is built. */
function checkFiles(made: string, { kit, repos, components }: KitConf, file: string): void {
  const lists = [kit['kitdeployparams'], ...components.map((component) => component['exlist'])].filter(Boolean);
  const files = [...lists, ...scriptsOf(components)].map((name) => join(otherFilesName, name!));
  const missing =
    files.find((path) => !entryOf(join(made, path))?.isFile()) ??
    repos.map((repo) => join('repos', repo['kitreponame']!)).find((path) => !entryOf(join(made, path))?.isDirectory());
  if (missing !== undefined)
    throw new Fault('invalid', `${file} is incomplete: ${kitConfName} names ${missing}, which is not in the kit.`);
}

/** Scripts that the directory for nodes lacks. One of the same name and another content may be the site's own. */
function newScripts({ postscripts, file }: KitJob, made: string, { components }: KitConf): [string, string][] {
  return scriptsOf(components).flatMap((name): [string, string][] => {
    const text = readFileSync(join(made, otherFilesName, name), 'utf8');
    const there = readOptional(join(postscripts, name));
    if (there === text) return [];
    if (there === undefined) return [[name, text]];
    throw new Fault(
      'invalid',
      `${file} was not added: its script ${name} differs from ${join(postscripts, name)}. Move that file away if nothing uses it, and add the kit again.`,
    );
  });
}

/** What an addkit that was killed has left may go; what somebody else has put there stays. */
async function moveAwayLeftover(place: string, name: string, to: string): Promise<void> {
  if (!entryOf(place)) return;
  if (!isOfKit(place, name))
    throw new Fault('invalid', `${place} exists and addkit did not make it. Move it away, or choose another path.`);
  await rename(place, to);
}

/** Whether addkit has made the directory for this kit. */
export function isOfKit(directory: string, kit: string): boolean {
  const text = readOptional(join(directory, kitMarker));
  if (text === undefined) return false;
  try {
    return (JSON.parse(text) as { kit?: unknown }).kit === kit;
  } catch {
    return false;
  }
}

function definitionOf({ kit, repos, components }: KitConf, place: string): KitMade {
  const kitname = kit['kitname']!;
  return {
    kit: { ...kit, kitdir: place },
    repos: repos.map((repo) => ({ ...repo, kitname, kitrepodir: join(place, 'repos', repo['kitreponame']!) })),
    components: components.map((component) => ({ ...component, kitname })),
  };
}
