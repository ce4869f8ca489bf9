import { tableNamed } from '../../database/tables.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { normalMac } from '../dhcp/reservations.ts';

const macTable = tableNamed('mac');

/** The MAC addresses of a node, in lower case with colons; what is none is passed over. */
export const macsOf = (reader: EffectiveReader, node: string): string[] =>
  (reader.row(macTable, node)?.['mac'] ?? '')
    .split('|')
    .flatMap((part) => normalMac(part.split('!', 1)[0]!.trim()) ?? []);
