import { Fault } from '../core/errors.ts';
import { type NodeResult, nodeFailure } from '../core/results.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled, type Row, tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
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
export const stateTables: readonly string[] = ['chain', 'nodetype', 'boottoken'];

/** The node is left to its own disk. */
export const isLocalState = (state: string): boolean => state === 'boot' || state === 'offline';

/** A command or an archive, which the small ramdisk runs. */
export const isTaskState = (state: string): boolean => /^run(cmd|image)=/.test(state);

/** The small ramdisk is what the node boots, without a task. */
export const isRamdiskState = (state: string): boolean => ['shell', 'standby', 'shutdown'].includes(state);

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

/**
 * Brings nodes to a state: what they are to do stands in `chain`, what they then are in `nodetype`. A node that cannot be brought
 * there fails alone. An image that is named and does not exist refuses all.
 */
export function* planBootStates(
  draft: Draft,
  nodes: readonly string[],
  { first, rest }: BootStates,
  /** What the nodes are by then, where the draft itself changes that. */
  snapshot = draft.base,
): Interruptible<NodeResult[]> {
  const reader = effectiveReader(snapshot);
  if (first.kind === 'image' && first.name !== undefined) imageNamed(draft.base, first.name);
  const results: NodeResult[] = [];
  yield* eachInSlices(nodes, (node) => {
    try {
      const bootstate = bringTo(draft, reader, node, first, rest);
      const Message = first.kind === 'image' ? mismatch(draft, reader, node) : undefined;
      results.push({ node, value: { bootstate, ...(Message === undefined ? {} : { Message }) } });
      // Whatever the node boots now was not what is wanted any more.
      endToken(draft, node);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      results.push(nodeFailure(node, error));
    }
  });
  return results;
}

/** The state as it is kept and shown. */
function bringTo(draft: Draft, reader: EffectiveReader, node: string, state: BootState, rest: string): string {
  if (state.kind === 'next') {
    const left = reader.row(chainTable, node)?.['currchain'];
    if (!left)
      throw new Fault('invalid', 'Nothing is left to do next: no list of states was given to this node.', {
        reference: ['Cannot determine current state for this node'],
      });
    const next = parseBootStates(left);
    return bringTo(draft, reader, node, next.first, next.rest);
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
      { reference: ['Unable to identify plugin for this command, check relevant tables: noderes.netboot'] },
    );
  if (state.kind === 'image') return bringToImage(draft, reader, node, state.name, rest);
  const text = state.kind === 'word' ? state.word : state.text;
  // A node without a disk would boot its image again, whatever its state says.
  if (text === 'boot' && isDiskless(draft.base, reader, node))
    draft.merge('nodetype', node, { node, provmethod: undefined });
  draft.merge('chain', node, { node, currstate: text, currchain: rest === '' ? undefined : rest });
  return text;
}

/** What follows once a node has its system on its disk: what is left to do, else to boot from there. */
export function stateAfterInstallation(draft: Draft, node: string): void {
  const reader = effectiveReader(draft.base);
  const row = reader.row(chainTable, node);
  if (row?.['currchain']) bringTo(draft, reader, node, { kind: 'next' }, '');
  else if (row?.['currstate'] !== undefined) draft.merge('chain', node, { node, currstate: 'boot' });
}

function bringToImage(
  draft: Draft,
  reader: EffectiveReader,
  node: string,
  given: string | undefined,
  rest: string,
): string {
  const name = given ?? reader.row(typeTable, node)?.['provmethod'];
  if (!name)
    throw new Fault('invalid', 'No image is named, and the attribute provmethod of the node names none either.', {
      reference: ['OS image name must be specified in nodetype.provmethod'],
    });
  const { provmethod, osvers, osarch, profile } = imageNamed(draft.base, name);
  if (!provmethod || !osvers || !osarch || !profile)
    throw new Fault('invalid', `The image ${name} lacks one of provmethod, osvers, osarch and profile.`);
  const problem = methodProblem(reader.row(resourceTable, node)?.['netboot'] ?? '', osarch);
  // Whoever names the image means it.
  if (given === undefined && problem !== undefined) throw new Fault('invalid', problem);
  if (!reader.row(macTable, node)?.['mac']) throw new Fault('invalid', 'No MAC address available for this node');
  const currstate = `${provmethod} ${osvers}-${osarch}-${profile}`;
  draft.merge('nodetype', node, { node, provmethod: name, os: osvers, arch: osarch, profile });
  const next = rest !== '' ? rest : endsOnDisk(provmethod) ? 'boot' : undefined;
  draft.merge('chain', node, { node, currstate, currchain: next });
  return currstate;
}

const mismatch = (draft: Draft, reader: EffectiveReader, node: string): string | undefined =>
  methodProblem(reader.row(resourceTable, node)?.['netboot'] ?? '', draft.get('nodetype', node)?.['arch'] ?? '');

/** What comes after it is the node's own disk. */
export const endsOnDisk = (provmethod: string): boolean => provmethod === 'install' || provmethod === 'sysclone';

function imageNamed(snapshot: Snapshot, name: string): Row {
  const row = snapshot.get('osimage', name);
  if (!row || !isEnabled(row))
    throw new Fault(
      'invalid',
      `Cannot find the OS image ${name} in the osimage table. GET /osimages lists those there are.`,
      { reference: [`Cannot find the OS image ${name} in the osimage table.`] },
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
