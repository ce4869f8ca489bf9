import { readFileSync } from 'node:fs';
import { objectTypes } from '../../../src/objects/types.ts';

/** The columns that decide trust, by table, as administrators are told; 'all' of some tables. */
const listed = new Map(
  readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line): [string, readonly string[] | 'all'][] => {
      const [, table, columns = ''] = /^\| `(\w+)` \| (.*) \|$/.exec(line) ?? [];
      if (table === undefined) return [];
      return [[table, columns === 'all' ? 'all' : columns.split(', ').map((column) => column.replaceAll('`', ''))]];
    }),
);

/** The names that a rule's parameters may name the column by; undefined if it does not decide trust. */
export function trustNames(table: string, column: string): readonly string[] | undefined {
  const columns = listed.get(table);
  if (columns === undefined || column === 'comments' || (columns !== 'all' && !columns.includes(column)))
    return undefined;
  const attributes = [...objectTypes.values()].flatMap((type) => type.uses.get(table)?.get(column) ?? []);
  const members = table === 'nodelist' && column === 'groups' ? ['members'] : [];
  return [...attributes.map(({ attribute }) => attribute), ...members, column];
}

/** What comes of commands that act on the machine itself: the right to run them is a right to that. */
const consequences: Readonly<Record<string, readonly string[]>> = {
  nodeset: ['chain', 'nodetype', 'bootchoice', 'boottoken', 'dhcphost'],
  rinstall: ['chain', 'nodetype', 'bootchoice', 'boottoken', 'dhcphost'],
  mkvm: ['vpd', 'mac', 'vmmove'],
  rmvm: ['vmmove'],
  rmigrate: ['vm', 'vmmove'],
};

export const isConsequence = (command: string, table: string): boolean =>
  consequences[command]?.includes(table) === true;
