import { isIP } from 'node:net';
import { Fault } from '../../../core/errors.ts';
import { tableNamed, tables } from '../../../database/tables.ts';
import type { EffectiveReader } from '../../../objects/effective.ts';

/** Where files come from or are kept. */
export type Source =
  | { readonly kind: 'nfs'; readonly server: string; readonly path: string; readonly options: string }
  | { readonly kind: 'disk'; readonly device: string; readonly options: string };

export interface SourceText {
  readonly text: string;
  readonly mntopts: string | undefined;
  /** Names the row. */
  readonly where: string;
}

const resourceTable = tableNamed('noderes');
const hostsTable = tableNamed('hosts');

/**
 * Reads `SERVER:/PATH`, `/PATH` on the node's server of files, and `/dev/NAME`, `LABEL=...` or `UUID=...` of a disk of the node.
 * `server` is muster as the node reaches it.
 */
export function readSource(reader: EffectiveReader, node: string, server: string, source: SourceText): Source {
  const { mntopts: options = '', where } = source;
  if (!/^[A-Za-z0-9_.,:=+/-]*$/.test(options))
    throw new Fault('invalid', `${where}: the mount options ${JSON.stringify(options)} have a sign that none has.`);
  const text = expanded(reader, node, source);
  if (/^(\/dev\/[a-z][A-Za-z0-9]*|(LABEL|UUID)=[A-Za-z0-9_.:-]+)$/.test(text))
    return { kind: 'disk', device: text, options };
  const [, named, path] = /^(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):)?(\/[ -~]*)$/.exec(text) ?? [];
  if (path === undefined || path.split('/').includes('..') || text.startsWith('/dev/'))
    throw new Fault(
      'invalid',
      `${where}: ${JSON.stringify(text)} is no place: write SERVER:/PATH, /PATH (on the node's nfsserver), /dev/NAME, LABEL=NAME or UUID=NUMBER.`,
    );
  const own = reader.row(resourceTable, node)?.['nfsserver'] ?? server;
  const host = (named ?? own).replaceAll(/[[\]]/g, '');
  return { kind: 'nfs', server: addressOf(reader, host), path: path.replaceAll(/\/{2,}/g, '/'), options };
}

/** A defined node by its address: a machine that boots may know no name server. */
function addressOf(reader: EffectiveReader, host: string): string {
  const ip = reader.row(hostsTable, host)?.['ip'];
  return ip !== undefined && isIP(ip) ? ip : host;
}

/** `$node` and `$TABLE.COLUMN` of the node. */
function expanded(reader: EffectiveReader, node: string, { text, where }: SourceText): string {
  if (/#(CMD|TABLE|ENV)/i.test(text))
    throw new Fault(
      'invalid',
      `${where}: ${JSON.stringify(text)}: commands are not run; $node and $TABLE.COLUMN are known.`,
    );
  return text.replaceAll(/\$([A-Za-z]+)(?:\.([A-Za-z]+))?/g, (variable, name: string, column?: string) => {
    if (name.toLowerCase() === 'node' && column === undefined) return node;
    const table = tables.get(name);
    if (table?.nodeColumn === undefined || column === undefined || !table.columns.includes(column))
      throw new Fault('invalid', `${where}: ${variable} is nothing of a node; write $node or $TABLE.COLUMN.`);
    if (table.secret.has(column)) throw new Fault('invalid', `${where}: ${variable} is a secret.`);
    const value = reader.row(table, node)?.[column];
    if (!value) throw new Fault('invalid', `${where}: ${variable} has no value for the node ${node}.`);
    return value;
  });
}
