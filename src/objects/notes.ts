import { isOneMachine, normalMac } from '../core/mac.ts';
import { suggestion } from '../core/nearest.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { RowChange } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { objectExists } from './definitions.ts';
import { listItems } from '../core/list-items.ts';
import { allMembers, groupExists } from './groups.ts';
import { gatewayProblem } from './networks.ts';
import siteMeanings from './site-meanings.json' with { type: 'json' };
import { isPattern } from './substitution/index.ts';
import { nodeType, typeNamed } from './types.ts';

const siteAttributes = Object.keys(siteMeanings);
const imageTypes = ['linux', 'windows', 'NIM', 'AIX'];
/** What `provmethod` of a node may be besides the name of an image. */
const methods = ['install', 'netboot', 'statelite', 'nfs', 'sysclone', 'boot'];
const most = 20;

interface Circumstances {
  readonly before: Snapshot;
  /** Made only if it is asked for: it costs as much as the change itself. */
  after(): Snapshot;
  /** Names of drivers, which `mgt` picks. */
  readonly drivers: readonly string[];
  /** Which nodes the author may know of. Undefined: all. */
  readonly sees: ((node: string) => boolean) | undefined;
}

/** What looks wrong in a change set and is taken all the same: sentences for whoever made it. */
export function* notesOn(changes: readonly RowChange[], circumstances: Circumstances): Interruptible<string[]> {
  const notes: string[] = [];
  yield* eachInSlices(changes, (change) => {
    if (notes.length >= most) return;
    for (const rule of rules[change.table] ?? []) {
      const note = rule(change, circumstances);
      if (note !== undefined) notes.push(note);
    }
  });
  if (notes.length >= most) return notes;
  const shared = changes.some(({ table }) => table === 'hosts') ? yield* sharedAddresses(changes, circumstances) : [];
  return [...notes, ...shared];
}

type Rule = (change: RowChange, circumstances: Circumstances) => string | undefined;

/** The value that a column has now and had not before. */
function written({ before, after }: RowChange, column: string): string | undefined {
  const value = after?.[column];
  return value && value !== before?.[column] && !isPattern(value) ? value : undefined;
}

/** An address in the change that no machine can have: whoever gave it to a node by a script learns it at once, too. */
export function macOfNoMachine(change: RowChange): string | undefined {
  if (change.table !== 'mac') return undefined;
  const macs = (written(change, 'mac') ?? '').split('|').map((part) => part.split('!', 1)[0]!.trim());
  return macs.find((text) => {
    const mac = normalMac(text);
    return mac !== undefined && !isOneMachine(mac);
  });
}

const rules: Readonly<Record<string, readonly Rule[]>> = {
  nodehm: [
    (change, { drivers }) => {
      const mgt = written(change, 'mgt');
      if (mgt === undefined || drivers.includes(mgt)) return undefined;
      return `mgt of ${change.key} is "${mgt}", which muster has no driver for.${suggestion(mgt, drivers)}`;
    },
  ],
  osimage: [
    (change) => {
      const type = written(change, 'imagetype');
      if (type === undefined || imageTypes.includes(type)) return undefined;
      return `imagetype of ${change.key} is "${type}", which is not known.${suggestion(type, imageTypes)}`;
    },
    ({ key, after: kept }, { after, sees }) => {
      if (kept) return undefined;
      const rows = after().rows('nodetype').values();
      const user = rows.find(({ provmethod, node = '' }) => provmethod === key && (!sees || sees(node)));
      return user && `The image ${key} is gone, and provmethod of ${user['node']} still names it.`;
    },
  ],
  nodetype: [
    (change, { before, after }) => {
      const method = written(change, 'provmethod');
      if (method === undefined || methods.includes(method)) return undefined;
      const images = typeNamed('osimage');
      if (objectExists(before, images, method) || objectExists(after(), images, method)) return undefined;
      const meant = suggestion(method, before.rows('osimage').keys());
      return `provmethod of ${change.key} is "${method}", and there is no such image.${meant}`;
    },
  ],
  mac: [
    (change) => {
      const wrong = macOfNoMachine(change);
      return (
        wrong &&
        `mac of ${change.key} is ${wrong}, which no machine can have; makedhcp refuses it. Give the address of its network adapter.`
      );
    },
  ],
  networks: [({ after }) => (after ? gatewayProblem(after['netname'] ?? '', after) : undefined)],
  site: [
    ({ key, before, after }) =>
      before || !after || siteAttributes.includes(key)
        ? undefined
        : `"${key}" is not a known attribute of the site; it is kept, and only postscripts see it.${suggestion(key, siteAttributes)}`,
  ],
  nodelist: [
    ({ key, before: old }, { before, sees }) =>
      !old && !sees && groupExists(before, key)
        ? `${key} is the name of a group too: both have the same attributes.`
        : undefined,
    (change, { before, sees }) => {
      const groups = sees ? [] : listItems(written(change, 'groups') ?? '');
      const node = groups.find((group) => objectExists(before, nodeType, group));
      return node && `${node}, a group of ${change.key}, is the name of a node too: both have the same attributes.`;
    },
  ],
  nodegroup: [
    ({ key, before: old }, { before, sees }) =>
      !old && !sees && objectExists(before, nodeType, key)
        ? `${key} is the name of a node too: both have the same attributes.`
        : undefined,
    ({ key, after: kept }, { before, sees }) => {
      const members = kept ? [] : allMembers(before, key).filter((node) => !sees || sees(node));
      return members.length > 0 ? goneGroupNote(key, members.length) : undefined;
    },
  ],
};

export const goneGroupNote = (name: string, members: number): string =>
  `The group ${name} is gone; it had ${members === 1 ? '1 member' : `${members} members`}.`;

/** Addresses that somebody else has already. */
function* sharedAddresses(changes: readonly RowChange[], { after, sees }: Circumstances): Interruptible<string[]> {
  const given = new Map<string, string>();
  for (const change of changes) {
    const ip = change.table === 'hosts' ? written(change, 'ip') : undefined;
    if (ip !== undefined) given.set(ip, change.key);
  }
  const notes: string[] = [];
  if (given.size === 0) return notes;
  for (const { ip = '', node = '' } of after().rows('hosts').values()) {
    const other = given.get(ip);
    if (other !== undefined && other !== node && (!sees || sees(node)))
      notes.push(`The address ${ip} of ${other} is that of ${node} too.`);
    if (notes.length >= most) return notes;
    yield;
  }
  return notes;
}
