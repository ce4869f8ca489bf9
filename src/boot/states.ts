import { Fault } from '../core/errors.ts';
import { noPlugin } from '../core/plugin-tables.ts';
import { type NodeResult, nodeFailure } from '../core/results.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled, type Row, tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { keeperOf, macClaim } from '../objects/kept-claims.ts';
import { imageNamed as describedImage } from '../objects/node-image.ts';
import { reservationsOf } from '../names/index.ts';
import { addedProblem } from './added-arguments.ts';
import { diskOf, dropDecision, endsOnDisk, keepDecision } from './decision.ts';
import { decideLater, type Later, laterOf, laterText } from './later-decisions.ts';
import { macsOf } from './node-index.ts';
import { diskArgument } from './ramdisk.ts';
import { type ReadinessByImage, readyFor } from './readiness.ts';
import { type BootMethod, bootMethods, isBootMethod } from './scripts/reference.ts';
import { endToken } from './tokens.ts';

/** What a node is to do at its next boot from the network. */
export type BootState =
  /** Without a name the one of the node's `provmethod`. */
  | { readonly kind: 'image'; readonly name: string | undefined }
  | { readonly kind: 'word'; readonly word: Word }
  /** A command for the ramdisk, or an archive that it fetches and runs. */
  | { readonly kind: 'task'; readonly text: string }
  /** The next of the node's `currchain`. */
  | { readonly kind: 'next' }
  /** The one it has, with all that follows from it made again. */
  | { readonly kind: 'enact' }
  /** What it is to do as soon as its machine is discovered; its state stays. */
  | { readonly kind: 'ondiscover'; readonly text: string };

const words = ['boot', 'shell', 'standby', 'offline', 'shutdown'] as const;
type Word = (typeof words)[number];

const examples = `osimage=NAME, ${words.join(', ')}, runcmd=COMMAND, runimage=URL, next, enact, ondiscover=STATE:VALUE|...`;
const chainTable = tableNamed('chain');
const typeTable = tableNamed('nodetype');
const resourceTable = tableNamed('noderes');
const macTable = tableNamed('mac');

/** The tables that a change of boot states writes. */
export const stateTables: readonly string[] = ['chain', 'nodetype', 'bootchoice', 'boottoken'];

/** The node is left to its own disk. */
export const isLocalState = (state: string): boolean => state === 'boot' || state === 'offline';

/** A command or an archive, which the small ramdisk runs. */
export const isTaskState = (state: string): boolean => /^run(cmd|image)=/.test(state);

/** The small ramdisk is what the node boots, without a task. */
export const isRamdiskState = (state: string): boolean => ['shell', 'standby', 'shutdown'].includes(state);

/** The node boots its image, or is installed from it. */
export const isImageState = (state: string): boolean =>
  !isLocalState(state) && !isTaskState(state) && !isRamdiskState(state);

/** A state, and those that follow it. */
export interface BootStates {
  readonly first: BootState;
  readonly rest: string;
}

/** They stand behind commas, as the reference system writes them. */
export function parseBootStates(text: string): BootStates {
  const [first = '', ...rest] = text.split(',').map((part) => part.trim());
  const states = [first, ...rest].map(parseBootState);
  const alone = states.find(({ kind }) => ['next', 'enact', 'ondiscover'].includes(kind));
  if (rest.length > 0 && alone)
    throw new Fault('invalid', `State "${text}": ${alone.kind} cannot be part of a list; give it alone.`);
  return { first: states[0]!, rest: rest.join(',') };
}

function parseBootState(text: string): BootState {
  const [name = '', ...values] = text.split('=');
  const value = values.join('=');
  if (/[^ -~]/.test(text)) throw new Fault('invalid', 'A boot state has a character that is not printable ASCII.');
  if (text === 'next' || text === 'enact') return { kind: text };
  if (name === 'ondiscover' && value !== '') return { kind: 'ondiscover', text: checkedDiscovery(value) };
  if (name === 'osimage') return { kind: 'image', name: value === '' ? undefined : value };
  if ((words as readonly string[]).includes(text)) return { kind: 'word', word: text as Word };
  if (name === 'runimage' && !/^(https?|ftp|tftp):\/\/[^/ ]/.test(value))
    throw new Fault(
      'invalid',
      `The state "${text}" needs the URL of an archive, such as runimage=http://HOST/FILE.tgz.`,
    );
  if ((name === 'runcmd' || name === 'runimage') && value !== '') return { kind: 'task', text };
  if (text === 'iscsiboot')
    throw new Fault('invalid', 'The state iscsiboot is not supported: muster does not boot machines from iSCSI.');
  if (['install', 'netboot', 'statelite'].includes(text))
    throw new Fault('invalid', `The state "${text}" is no longer used: name the image, osimage=NAME.`, {
      reference: [
        'The options "install", "netboot", and "statelite" have been deprecated, use "osimage=<osimage_name>" instead.',
      ],
    });
  throw new Fault('invalid', `Unknown state ${text} requested; there are ${examples}.`, {
    reference: [`Unknown state ${text} requested`],
  });
}

/** What is to be done on discovery, as states: the reference system has `:` and `|` there for `=` and `,`. */
export const statesOnDiscovery = (text: string): string =>
  text
    .replace(':', '=')
    .replaceAll(/\|([^:|]*):/g, ',$1=')
    .replaceAll('|', ',');

function checkedDiscovery(text: string): string {
  const { first } = parseBootStates(statesOnDiscovery(text));
  if (['next', 'enact', 'ondiscover'].includes(first.kind))
    throw new Fault('invalid', `On discovery a machine cannot get the state "${text}".`);
  return text;
}

export interface BootStateOptions {
  /** What the nodes are by then, where the draft itself changes that. */
  readonly snapshot?: Snapshot | undefined;
  /** What nodes find if they boot; absent: nobody has looked. */
  readonly readiness?: ReadinessByImage | undefined;
  /** Sets what cannot boot now, and says so. */
  readonly force?: boolean | undefined;
}

/**
 * Brings nodes to a state: what they are to do stands in `chain` and `bootchoice`, what they then are in `nodetype`. A node that cannot
 * be brought there fails alone. An image that is named and does not exist refuses all.
 */
export function* planBootStates(
  draft: Draft,
  nodes: readonly string[],
  { first, rest }: BootStates,
  options: BootStateOptions = {},
): Interruptible<NodeResult[]> {
  const { snapshot = draft.base } = options;
  const reader = effectiveReader(snapshot);
  if (first.kind === 'image' && first.name !== undefined) imageNamed(draft.base, first.name);
  const results: NodeResult[] = [];
  yield* eachInSlices(nodes, (node) => {
    try {
      const messages: string[] = [];
      const bootstate = bringTo(draft, reader, node, first, rest, { ...options, messages });
      const odd = first.kind === 'image' ? mismatch(draft, reader, node) : undefined;
      const Message = [...messages, ...(odd === undefined ? [] : [odd])].join(' ');
      results.push({ node, value: { bootstate, ...(Message === '' ? {} : { Message }) } });
      // Whatever the node boots now is not what is wanted any more, unless its state stays.
      if (first.kind !== 'enact' && first.kind !== 'ondiscover') endToken(draft, node);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      results.push(nodeFailure(node, error));
    }
  });
  return results;
}

/** Messages name what was set though it looks wrong. */
type Bringing = Omit<BootStateOptions, 'snapshot'> & {
  readonly messages: string[];
  /** What was decided of the state and of those that follow it, when the list was set. */
  readonly decided?: readonly Later[] | undefined;
};

/** The state as it is kept and shown. */
function bringTo(
  draft: Draft,
  reader: EffectiveReader,
  node: string,
  state: BootState,
  rest: string,
  bringing: Bringing,
): string {
  if (state.kind === 'next') {
    const left = reader.row(chainTable, node)?.['currchain'];
    if (!left)
      throw new Fault('invalid', 'Nothing is left to do next: no list of states was given to this node.', {
        reference: ['Cannot determine current state for this node'],
      });
    const next = parseBootStates(left);
    return bringTo(draft, reader, node, next.first, next.rest, bringing);
  }
  if (state.kind === 'ondiscover') {
    draft.merge('chain', node, { node, ondiscover: state.text });
    return shownBootState(reader, node);
  }
  if (state.kind === 'enact') {
    const present = reader.row(chainTable, node)?.['currstate'];
    if (!present) throw new Fault('invalid', 'Cannot determine current state for this node: none was set.');
    return present;
  }
  const method = reader.row(resourceTable, node)?.['netboot'] ?? '';
  if (!isBootMethod(method))
    throw new Fault(
      'invalid',
      `The attribute netboot ${method === '' ? 'is not set' : `is "${method}"`}; set it to one of ${bootMethods.join(', ')}.`,
      { reference: [noPlugin('nodeset')] },
    );
  if (state.kind === 'image') return bringToImage(draft, reader, node, state.name, rest, bringing);
  const text = state.kind === 'word' ? state.word : state.text;
  const added = isLocalState(text) ? undefined : addedProblem(reader, node);
  refuseUnbootable(added === undefined ? [] : [added], bringing);
  // A node without a disk would boot its image again, whatever its state says.
  const dropsImage = text === 'boot' && isDiskless(draft.base, reader, node);
  const image = dropsImage ? '' : (reader.row(typeTable, node)?.['provmethod'] ?? '');
  const later = laterText(laterIn(draft, reader, node, { rest, image }, bringing));
  if (dropsImage) draft.merge('nodetype', node, { node, provmethod: undefined });
  draft.merge('chain', node, { node, currstate: text, currchain: rest === '' ? undefined : rest });
  if (later === undefined) dropDecision(draft, node);
  else keepDecision(draft, node, text, {}, later);
  return text;
}

/** What was decided of what follows before stays. What is decided now must be able to boot, as if it came first. */
function laterIn(
  draft: Draft,
  reader: EffectiveReader,
  node: string,
  after: { readonly rest: string; readonly image: string },
  bringing: Bringing,
): readonly Later[] | undefined {
  const { decided, readiness } = bringing;
  if (decided) return decided.slice(1);
  const later = decideLater(draft, reader, node, after, readiness);
  const problems = (later ?? []).flatMap(({ item, image, disk }) =>
    image === undefined
      ? []
      : problemsOf(reader, node, image, disk, readiness).map((problem) => `Later in the list, ${item}: ${problem}`),
  );
  refuseUnbootable(problems, bringing);
  return later;
}

/** Why a node cannot boot an image, wherever it stands in a list. */
function problemsOf(
  reader: EffectiveReader,
  node: string,
  name: string,
  disk: string | undefined,
  readiness: ReadinessByImage | undefined,
): string[] {
  const undescribed = descriptionProblem(reader.snapshot, name);
  if (undescribed !== undefined) return [undescribed];
  const added = addedProblem(reader, node, describedImage(reader, name));
  const found = [readyFor(readiness, name, node)?.problem, diskProblem(disk), added, macProblem(reader, node)];
  return found.filter((problem) => problem !== undefined);
}

/** Without a MAC address that it keeps, no machine boots as the node. */
function macProblem(reader: EffectiveReader, node: string): string | undefined {
  if (!reader.row(macTable, node)?.['mac']) return noMac;
  const macs = macsOf(reader, node);
  const reservations = reservationsOf(reader.snapshot);
  const isOthers = (mac: string): boolean => {
    const keeper = keeperOf(reader, macClaim(mac));
    return keeper !== undefined && keeper !== node && reservations.nodeOfMac(mac) !== node;
  };
  if (macs.length === 0 || !macs.every(isOthers)) return undefined;
  return `Another node keeps its MAC address ${macs.join(', ')}: a machine with it boots as that node. Give one of them another.`;
}

const noMac = 'No MAC address available for this node';

function descriptionProblem(snapshot: Snapshot, name: string): string | undefined {
  try {
    descriptionOf(snapshot, name);
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** What an image must say for nodes to boot it. */
function descriptionOf(snapshot: Snapshot, name: string | undefined) {
  if (!name)
    throw new Fault('invalid', 'No image is named, and the attribute provmethod of the node names none either.', {
      reference: ['OS image name must be specified in nodetype.provmethod'],
    });
  const { provmethod, osvers, osarch, profile } = imageNamed(snapshot, name);
  if (!provmethod || !osvers || !osarch || !profile)
    throw new Fault('invalid', `The image ${name} lacks one of provmethod, osvers, osarch and profile.`);
  return { name, provmethod, osvers, osarch, profile };
}

/** What follows once a node has its system on its disk: what is left to do, else to boot from there. */
export function stateAfterInstallation(draft: Draft, node: string): void {
  const reader = effectiveReader(draft.base);
  const { currstate, currchain } = reader.row(chainTable, node) ?? {};
  if (currstate === undefined) return;
  try {
    const bringing = { messages: [], force: true, decided: laterOf(reader, node) };
    if (currchain) return void bringTo(draft, reader, node, { kind: 'next' }, '', bringing);
  } catch (error) {
    // Whatever is wrong with the rest, the node must not be installed again.
    if (!(error instanceof Fault)) throw error;
  }
  draft.merge('chain', node, { node, currstate: 'boot', currchain: undefined });
  dropDecision(draft, node);
}

function bringToImage(
  draft: Draft,
  reader: EffectiveReader,
  node: string,
  given: string | undefined,
  rest: string,
  bringing: Bringing,
): string {
  const wanted = given ?? reader.row(typeTable, node)?.['provmethod'];
  const { name, provmethod, osvers, osarch, profile } = descriptionOf(draft.base, wanted);
  const problem = methodProblem(reader.row(resourceTable, node)?.['netboot'] ?? '', osarch);
  // Whoever names the image means it.
  if (given === undefined && problem !== undefined) throw new Fault('invalid', problem);
  if (!reader.row(macTable, node)?.['mac']) throw new Fault('invalid', noMac);
  const ready = readyFor(bringing.readiness, name, node);
  const before = bringing.decided?.[0];
  const disk = endsOnDisk(provmethod) ? (before ? before.disk : diskOf(reader, node)) : undefined;
  refuseUnbootable(problemsOf(reader, node, name, disk, bringing.readiness), bringing);
  const later = laterText(laterIn(draft, reader, node, { rest, image: name }, bringing));
  // Where the image has changed since, the boot is refused by this.
  const currstate = before?.state ?? `${provmethod} ${osvers}-${osarch}-${profile}`;
  draft.merge('nodetype', node, { node, provmethod: name, os: osvers, arch: osarch, profile });
  const next = rest !== '' ? rest : endsOnDisk(provmethod) ? 'boot' : undefined;
  draft.merge('chain', node, { node, currstate, currchain: next });
  const { pack, layout } = disk === undefined ? {} : (before ?? ready ?? {});
  keepDecision(draft, node, currstate, { image: before?.image ?? name, disk, pack, layout }, later);
  return currstate;
}

/** What cannot boot is found out now, not in front of a screen. */
function refuseUnbootable(problems: readonly string[], { force, messages }: Bringing): void {
  if (problems.length === 0) return;
  if (!force) throw new Fault('invalid', [...problems, 'To set the node to it all the same, use force.']);
  messages.push(...problems);
}

function diskProblem(disk: string | undefined): string | undefined {
  try {
    diskArgument(disk);
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

const mismatch = (draft: Draft, reader: EffectiveReader, node: string): string | undefined =>
  methodProblem(reader.row(resourceTable, node)?.['netboot'] ?? '', draft.get('nodetype', node)?.['arch'] ?? '');

function imageNamed(snapshot: Snapshot, name: string): Row {
  const row = snapshot.get('osimage', name);
  if (!row || !isEnabled(row))
    throw new Fault(
      'invalid',
      `Cannot find the OS image ${name} in the osimage table. GET /osimages lists those there are.`,
      { missing: [name], reference: [`Cannot find the OS image ${name} in the osimage table.`] },
    );
  return row;
}

function isDiskless(snapshot: Snapshot, reader: EffectiveReader, node: string): boolean {
  const name = reader.row(typeTable, node)?.['provmethod'];
  const method = name === undefined ? undefined : snapshot.get('osimage', name)?.['provmethod'];
  return method === 'netboot' || method === 'statelite';
}

/** What a node will do, as it is shown: one that never got a state gets nothing from here. */
export const shownBootState = (reader: EffectiveReader, node: string): string =>
  reader.row(chainTable, node)?.['currstate'] ??
  (reader.row(resourceTable, node)?.['netboot'] === 'pxe' ? 'boot' : 'offline');

/** How machines of an architecture usually boot from the network. */
const usualMethods: Readonly<Record<string, readonly BootMethod[]>> = {
  x86_64: ['xnba', 'pxe', 'grub2', 'grub2-http', 'grub2-tftp'],
  aarch64: ['xnba', 'grub2', 'grub2-http', 'grub2-tftp'],
  ppc64: ['grub2', 'grub2-http', 'grub2-tftp'],
  ppc64le: ['petitboot', 'grub2', 'grub2-http', 'grub2-tftp'],
};

/** What is odd about the way in which a node is to boot an image of the architecture. */
function methodProblem(method: string, arch: string): string | undefined {
  const usual = usualMethods[arch];
  if (!usual || (usual as readonly string[]).includes(method)) return undefined;
  return `The attribute netboot is ${method}, which machines of ${arch} do not boot with; set it to one of ${usual.join(', ')}.`;
}
