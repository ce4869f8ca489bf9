import { join } from 'node:path';
import { Fault, type FaultData, orFault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { ipText, parseIp } from '../../core/ip.ts';
import { isCalledSecret } from '../../database/secret-columns.ts';
import { isEnabled, tableNamed } from '../../database/tables.ts';
import { listItems } from '../../core/list-items.ts';
import { type EffectiveReader, effectiveReader, siteValue } from '../../objects/effective.ts';
import { networkOf } from '../../objects/networks.ts';
import { nicParts, nodeAttribute } from '../../objects/node-attributes.ts';
import type { CargoRoot } from '../remote/cargo.ts';
import type { Remote } from '../remote/remote.ts';
import type { RemoteTarget } from '../remote/targets.ts';
import { imageOf, installDirectory } from '../../objects/node-image.ts';
import type { PackageStep } from './package-list.ts';
import { hasScript, missingScript, type Postscript, scriptDirectory, scriptsOf } from './postscripts.ts';
import { PackageLists, type SoftwareName, softwareNames } from './software.ts';
import { type FoundList, SyncLists } from './synclist.ts';

export interface UpdateSteps {
  readonly files: boolean;
  /** The list of these files instead of those of the nodes' images; a path here. */
  readonly synclist?: string | undefined;
  readonly software: boolean;
  /** These scripts; `all`: those of each node. */
  readonly scripts: readonly Postscript[] | 'all' | undefined;
}

/** What the update of many nodes has in common. */
export interface UpdateJob {
  readonly files: boolean;
  readonly software: boolean;
  readonly scripts: boolean;
  /** Whether it says how far nodes are; files that somebody names are not what they lack to be up to date. */
  readonly tellsState: boolean;
  readonly lists: Readonly<Record<string, FoundList | FaultData>>;
  readonly packages: Readonly<Record<string, readonly PackageStep[] | FaultData>>;
  /** Where nodes keep what synchronising files needs; empty: in the usual place. */
  readonly storage: string;
  /** The directory of the scripts; undefined if there is none. */
  readonly directory: string | undefined;
  /** Files get the owner they have here. */
  readonly keepOwner: boolean;
  /** Bytes of output that are kept of a node. */
  readonly limit: number;
}

/** The files that an update may send. */
export function updateRoots({ lists, directory }: UpdateJob): CargoRoot[] {
  const ofLists = Object.values(lists).flatMap((list) => {
    if ('sentences' in list) return [];
    const { copies, appends, merges, scripts, scriptsAlways } = list;
    return [
      ...[...copies, ...appends, ...merges].flatMap(({ roots }) => roots),
      ...[...scripts, ...scriptsAlways].flatMap(({ root }) => ('sentences' in root ? [] : root)),
    ];
  });
  return directory === undefined ? ofLists : [...ofLists, { path: directory, real: directory }];
}

export interface UpdateTarget {
  readonly to: RemoteTarget | FaultData;
  /** Of files, by path. */
  readonly lists: readonly string[];
  /** Of packages, by key. */
  readonly packages: Readonly<Record<SoftwareName, string>> | undefined;
  readonly scripts: readonly PlannedScript[] | FaultData;
  readonly environment: Readonly<Record<string, string>>;
  /** Variables that only the scripts may see. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface PlannedScript extends Postscript {
  /** It is in the directory; muster does it itself; there is none of that name. */
  readonly is: 'script' | 'syncfiles' | SoftwareName | 'missing';
}

interface UpdateOptions {
  readonly remote: Remote;
  readonly snapshot: Snapshot;
  /** Whom we are on the nodes. */
  readonly user: string;
  readonly nodes: readonly string[];
  readonly steps: UpdateSteps;
  /** Whether a list that the caller names may take files from everywhere. Lists of images may not: others wrote them. */
  readonly everywhere: boolean;
}

/** Scripts that muster does itself, unless there is a script of that name. */
export const ownScripts = ['syncfiles', ...softwareNames] as const;

/** For nodes that nobody goes to. */
const unneeded: FaultData = { kind: 'invalid', sentences: ['there is nothing to send to it.'] };

/** The update of many nodes as data. What is the same for all is read once. */
export function planUpdate({ remote, snapshot, user, nodes, steps, everywhere }: UpdateOptions): {
  readonly shared: UpdateJob;
  target(node: string): Promise<UpdateTarget>;
} {
  const { files, synclist, software, scripts } = steps;
  const reader = effectiveReader(snapshot);
  const targets = remote.targets(snapshot, user);
  const readable = everywhere && synclist !== undefined ? remote.sources.everywhere : remote.sources;
  const lists = new SyncLists(reader, readable, nodes);
  const packages = new PackageLists(reader, remote.sources);
  const directory = scriptDirectory(remote.postscripts);
  const planned = (script: Postscript): PlannedScript => {
    const { name } = script;
    const is = hasScript(directory, name) ? 'script' : (ownScripts.find((own) => own === name) ?? 'missing');
    return { ...script, is };
  };
  const named = scripts === 'all' ? [] : (scripts ?? []).map(planned);
  const unknown = named.filter(({ is }) => is === 'missing').map(({ text }) => missingScript(text));
  if (unknown.length > 0)
    throw new Fault('invalid', [...unknown, `Nothing was run. Postscripts lie in ${remote.postscripts}.`], {
      reference: named
        .filter(({ is }) => is === 'missing')
        .map(({ text }) => missingScript(join(remote.postscripts, text))),
    });
  /** What the other steps of this update do already is left out. */
  const isDone = ({ is }: PlannedScript): boolean =>
    is === 'syncfiles' ? files : software && softwareNames.some((name) => name === is);
  const scriptsFor = async (node: string): Promise<readonly PlannedScript[]> =>
    scripts === 'all'
      ? scriptsOf(reader, node)
          .map(planned)
          .filter((script) => !isDone(script))
      : named;
  return {
    shared: {
      files,
      software,
      scripts: scripts !== undefined,
      tellsState: synclist === undefined,
      lists: lists.found.all,
      packages: packages.found.all,
      storage: siteValue(snapshot, 'nodesyncfiledir') ?? '',
      directory,
      keepOwner: user === 'root',
      // Kept line by line, which needs several times the memory of plain text.
      limit: Math.floor(remote.outputLimit(nodes.length) / 4),
    },
    async target(node) {
      const own = await orFault(scriptsFor(node));
      const does = (is: PlannedScript['is']): boolean =>
        !('sentences' in own) && own.some((script) => script.is === is);
      const needsPackages = software || softwareNames.some(does);
      const paths = files || does('syncfiles') ? await lists.pathsFor(node, synclist) : [];
      const isIdle = !software && scripts === undefined && paths.length === 0;
      const variables = scripts === undefined ? undefined : scriptEnvironment(reader, node);
      return {
        // To look for the addresses of thousands of nodes takes long.
        to: isIdle ? unneeded : await targets(node),
        lists: paths,
        packages: needsPackages
          ? { ospkgs: await packages.keyFor(node, 'ospkgs'), otherpkgs: await packages.keyFor(node, 'otherpkgs') }
          : undefined,
        scripts: own,
        environment: variables?.open ?? {},
        secrets: remote.opened(variables?.sealed ?? {}, siteSecret),
      };
    },
  };
}

const nics = tableNamed('nics');
const variable = /^[A-Z_][A-Z0-9_]*$/;
/** What a shell lives on; a site attribute of such a name must not change it. */
const reserved =
  /^(PATH|HOME|SHELL|USER|LOGNAME|PWD|OLDPWD|IFS|ENV|BASH_.*|BASHOPTS|SHELLOPTS|LD_.*|PS[0-4]|TERM|LANG|LC_.*|UID|EUID|PPID)$/;

/** What the secrets of the site are sealed as. */
const siteSecret = 'site.value';

interface ScriptVariables {
  readonly open: Readonly<Record<string, string>>;
  /** Secrets of the site as they are stored, and only those that the image's `environvar` names: on a node its root can read them. */
  readonly sealed: Readonly<Record<string, string>>;
}

/** What postscripts find in their environment: site attributes, facts of node and image, and what `environvar` adds. */
export function scriptEnvironment(reader: EffectiveReader, node: string): ScriptVariables {
  const { snapshot } = reader;
  const own = (name: string): string => nodeAttribute(reader, node, name) ?? '';
  const image = imageOf(reader, node);
  const groups = reader.groupsOf(node);
  const settings = [...snapshot.rows('site').values()].filter((row) => isEnabled(row) && row['key']);
  const [secret, site] = [true, false].map((isSecret) =>
    Object.fromEntries(
      settings
        .filter(({ key }) => isCalledSecret(key!) === isSecret)
        .map(({ key, value = '' }) => [key!.toUpperCase(), value]),
    ),
  );
  const known = {
    NODE: node,
    GROUP: groups.join(','),
    NTYPE: groups.includes('service') ? 'service' : 'compute',
    OSVER: image.os,
    ARCH: image.arch,
    PROFILE: image.profile,
    PROVMETHOD: image.name || image.method,
    IMAGENAME: image.name,
    NODESETSTATE: own('currstate'),
    MASTER: own('xcatmaster') || (siteValue(snapshot, 'master') ?? ''),
    SITEMASTER: siteValue(snapshot, 'master') ?? '',
    INSTALLDIR: installDirectory(reader),
    MUSTER_NICS: nicAddresses(reader, node).join(';'),
    UPDATENODE: '1',
  };
  const wanted = listItems(image.attribute('environvar'));
  const isSecret = (setting: string): boolean => secret![setting] !== undefined;
  const added = Object.fromEntries(
    wanted
      .filter((setting) => !isSecret(setting))
      .map((setting) => {
        const mark = setting.indexOf('=');
        return mark < 0 ? [setting, ''] : [setting.slice(0, mark), setting.slice(mark + 1)];
      }),
  );
  const all = Object.entries({ ...site, ...known, ...added });
  return {
    open: Object.fromEntries(all.filter(([name]) => usable(name))),
    sealed: Object.fromEntries(
      wanted.filter((name) => isSecret(name) && usable(name)).map((name) => [name, secret![name]!]),
    ),
  };
}

/** `eth1 10.2.0.11/16`: the addresses of the node's other interfaces, each with the length of its network. */
function nicAddresses(reader: EffectiveReader, node: string): string[] {
  return nicParts(reader.row(nics, node)?.['nicips'] ?? '').flatMap(([nic, value]) =>
    value.split('|').flatMap((text) => {
      const ip = parseIp(text.trim());
      const network = ip && networkOf(reader.snapshot, ip);
      return ip && network ? `${nic} ${ipText(ip)}/${network.prefix.bits}` : [];
    }),
  );
}

/** Whether scripts may be given a variable of that name. */
export const usable = (name: string): boolean => variable.test(name.toUpperCase()) && !reserved.test(name);
