import { Fault } from '../core/errors.ts';
import type { Draft } from '../database/draft.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import { imageOf, type NodeImage } from '../objects/node-image.ts';

/** What a node was set to boot: all that decides which system it gets, and where that goes. */
export interface Decision {
  readonly image: string;
  /** Where the image goes, as `osvolume` says it; undefined: into memory. */
  readonly disk: string | undefined;
  /** The pack that goes to the disk; what runs in memory is the pack in use at each boot. */
  readonly pack: string | undefined;
  /** How the disk is divided, or what its installer gets; undefined: nobody has looked, or there is none. */
  readonly layout: string | undefined;
}

/** The layout where no `partitionfile` says otherwise. */
export const usualLayout = 'usual';

const table = 'bootchoice';
const storageTable = tableNamed('storage');

/** What comes after it is the node's own disk. */
export const endsOnDisk = (provmethod: string): boolean => provmethod === 'install' || provmethod === 'sysclone';

/** The disk of a node as its definition has it. */
export const diskOf = (reader: EffectiveReader, node: string): string =>
  reader.row(storageTable, node)?.['osvolume'] || 'localdisk';

const nothing = { image: undefined, disk: undefined, pack: undefined, layout: undefined };

/** The state is kept with it: whoever writes another state by hand has not decided the rest. `later` is what follows in a list. */
export const keepDecision = (
  draft: Draft,
  node: string,
  state: string,
  decision: Partial<Decision>,
  later: string | undefined,
): void => draft.merge(table, node, { node, state, ...nothing, ...decision, later });

export function dropDecision(draft: Draft, node: string): void {
  if (draft.get(table, node)) draft.remove(table, node);
}

/** Undefined: the state was set by something that decided nothing more. */
export function decisionOf({ snapshot }: EffectiveReader, node: string, state: string): Decision | undefined {
  const row = snapshot.get(table, node);
  if (row?.['state'] !== state) return undefined;
  return { image: row['image'] ?? '', disk: row['disk'], pack: row['pack'], layout: row['layout'] };
}

/**
 * What was decided is what happens. A definition that has changed since, so that the node would boot another image, one of another kind,
 * or have a disk overwritten that nobody meant, needs another decision. Undefined: the definition still fits.
 */
export function changedSince(
  reader: EffectiveReader,
  node: string,
  state: string,
  image: NodeImage = imageOf(reader, node),
): string | undefined {
  const { name, method, os, arch, profile } = image;
  const decided = decisionOf(reader, node, state);
  const again = `run nodeset ${node} osimage=${name}`;
  if (decided && decided.image !== name)
    return `The node was set to the image ${decided.image}, but its provmethod is ${name} now. To boot ${name}, ${again}. To boot ${decided.image}, run chdef ${node} provmethod=${decided.image}.`;
  const now = `${method} ${os}-${arch}-${profile}`;
  if (state !== now && (endsOnDisk(method) || !state.startsWith(`${method} `)))
    return `The node was set to ${state}, but its image ${name} is ${now} now. To boot that, ${again}.`;
  const disk = diskOf(reader, node);
  if (decided?.disk !== undefined && decided.disk !== disk)
    return `The node was set to overwrite the disk ${decided.disk}, but its osvolume is ${disk} now. To overwrite that one, ${again}.`;
  return undefined;
}

/** Refuses to write another pack to a disk than the one that was decided, or to divide the disk otherwise. */
export function checkContents(
  reader: EffectiveReader,
  node: string,
  state: string,
  image: string,
  current: Pick<Decision, 'pack' | 'layout'>,
): void {
  const decided = decisionOf(reader, node, state);
  const again = `To write that, run nodeset ${node} osimage=${image}.`;
  if (decided?.pack !== undefined && decided.pack !== current.pack)
    throw new Fault(
      'invalid',
      `The node was set to write the pack ${decided.pack} of the image ${image} to its disk, but the pack ${current.pack} is in use now. ${again}`,
    );
  if (decided?.layout !== undefined && decided.layout !== current.layout)
    throw new Fault(
      'invalid',
      state.startsWith('install ')
        ? `What the installer of the image ${image} gets has changed since the node was set to it: pkgdir, template or partitionfile of the image, a file that these include, or a value of a table in them. It may overwrite another disk. If it is right so, run nodeset ${node} osimage=${image}.`
        : `The partitionfile of the image ${image} divides disks otherwise now than when the node was set to it. ${again}`,
    );
}
