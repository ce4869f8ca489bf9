import type { Fru } from '../../protocols/ipmi/commands/fru.ts';
import type { InventoryKind } from '../capabilities.ts';

export interface InventoryLine {
  readonly label: string;
  readonly value: string;
  /** The kinds it is shown for; `all` shows every line. */
  readonly kinds: readonly InventoryKind[];
}

/** `08/01/2022 21:52:00` in universal time, as the board says it. */
function dateText(date: Date | undefined): string {
  if (date === undefined) return '';
  const iso = date.toISOString();
  return `${iso.slice(5, 7)}/${iso.slice(8, 10)}/${iso.slice(0, 4)} ${iso.slice(11, 19)}`;
}

const filled = (lines: readonly InventoryLine[]) => lines.filter(({ value }) => value !== '');

/** The machine itself: FRU device 0. */
export function systemLines({ chassis, board, product }: Fru): readonly InventoryLine[] {
  return filled([
    { label: 'System Manufacturer', value: product?.manufacturer ?? '', kinds: ['vpd', 'hw'] },
    { label: 'System Description', value: product?.description ?? '', kinds: ['vpd', 'hw'] },
    { label: 'System Model/MTM', value: product?.model ?? '', kinds: ['model', 'vpd', 'hw'] },
    { label: 'System Revision', value: product?.revision ?? '', kinds: ['hw'] },
    { label: 'System Serial Number', value: product?.serialNumber ?? '', kinds: ['serial', 'vpd', 'hw'] },
    { label: 'System Asset Number', value: product?.assetTag ?? '', kinds: ['asset', 'hw'] },
    { label: 'Product Extra data', value: product?.extra.filter(Boolean).join(', ') ?? '', kinds: ['misc'] },
    { label: 'Chassis Serial Number', value: chassis?.serialNumber ?? '', kinds: ['hw'] },
    { label: 'Chassis Part Number', value: chassis?.partNumber ?? '', kinds: ['hw'] },
    { label: 'Chassis Extra data', value: chassis?.extra.filter(Boolean).join(', ') ?? '', kinds: ['misc'] },
    { label: 'Board manufacturer', value: board?.manufacturer ?? '', kinds: ['hw'] },
    { label: 'Board manufacture date', value: dateText(board?.manufactured), kinds: ['hw'] },
    { label: 'Board Description', value: board?.description ?? '', kinds: ['hw'] },
    { label: 'Board Serial Number', value: board?.serialNumber ?? '', kinds: ['hw'] },
    { label: 'Board Model Number', value: board?.model ?? '', kinds: ['hw'] },
    { label: 'Board Extra data', value: board?.extra.filter(Boolean).join(', ') ?? '', kinds: ['misc'] },
  ]);
}

/** A part of the machine: any other FRU device. Undefined: the part is not there. */
export function partLines(name: string, fru: Fru | undefined, kind: InventoryKind): readonly InventoryLine[] {
  const kinds = [kind];
  if (fru === undefined) return [{ label: name, value: 'Not Present', kinds }];
  const { board, product } = fru;
  return filled([
    { label: `${name} Board Part Number`, value: board?.model ?? '', kinds },
    { label: `${name} Board Serial Number`, value: board?.serialNumber ?? '', kinds },
    { label: `${name} Board Manufacturer`, value: board?.manufacturer ?? '', kinds },
    { label: `${name} Board`, value: board?.description ?? '', kinds },
    { label: `${name} Product Serial Number`, value: product?.serialNumber ?? '', kinds },
    { label: `${name} Product Manufacturer`, value: product?.manufacturer ?? '', kinds },
    { label: `${name} Product Version`, value: product?.revision ?? '', kinds },
    { label: `${name} Product Model`, value: product?.model ?? '', kinds },
  ]);
}
