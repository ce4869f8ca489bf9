import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled } from '../../database/tables.ts';

/** The nodes that are defined already, by what identifies a device. Values that nodes have from groups are not looked at. */
export class KnownNodes {
  readonly #machines = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  readonly #processors = new Map<string, string>();

  constructor(snapshot: Snapshot) {
    const defined = (node: string): boolean => snapshot.get('nodelist', node) !== undefined;
    const each = (table: string, note: (node: string, row: Readonly<Record<string, string>>) => void): void => {
      for (const row of snapshot.rows(table).values())
        if (isEnabled(row) && defined(row['node']!)) note(row['node']!, row);
    };
    each('vpd', (node, { mtm, serial, side = '' }) => {
      const kind = snapshot.get('ppc', node)?.['nodetype'] ?? snapshot.get('mp', node)?.['nodetype'] ?? '';
      if (mtm && serial) this.#machines.set([kind, mtm, serial, side].join('\0'), node);
    });
    each('hosts', (node, { ip }) => void (ip && this.#addresses.set(ip, node)));
    for (const table of ['ipmi', 'openbmc'])
      each(table, (node, { bmc }) => void (bmc && this.#processors.set(bmc, node)));
  }

  byMachine(kind: string, mtm: string, serial: string, side = ''): string | undefined {
    return this.#machines.get([kind, mtm, serial, side].join('\0'));
  }

  byAddress(address: string): string | undefined {
    return this.#addresses.get(address);
  }

  /** The node whose BMC has this address. */
  byProcessor(address: string): string | undefined {
    return this.#processors.get(address);
  }
}
