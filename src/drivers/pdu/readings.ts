import type { Inventory, InventoryKind, Labelled, Vitals, VitalsKind } from '../capabilities.ts';
import type { Outlets } from '../capabilities.ts';
import type { Pdu } from './outlets.ts';

const plain = (value: number, digits = 3): string => String(Number(value.toFixed(digits)));

export const wattsText = (watts: number): string => `${plain(watts, 1)} Watts`;
export const ampsText = (amps: number): string => `${plain(amps)} Amps`;
export const energyText = (wattHours: number): string => `${plain(wattHours / 1_000)} kWh`;

/** What the PDU draws as a whole, and each outlet as far as it is measured. */
export const pduVitals = (pdu: Pdu, outlets: Outlets): Vitals => ({
  async read(kinds, signal): Promise<Labelled> {
    const wants = (kind: VitalsKind): boolean => kinds.length === 0 || kinds.includes(kind);
    const lines: Record<string, string> = {};
    const add = (kind: VitalsKind, label: string, value: string | undefined): void => {
      if (value !== undefined && wants(kind)) lines[label] = value;
    };
    const text = (value: number | undefined, write: (value: number) => string): string | undefined =>
      value === undefined ? undefined : write(value);
    const { watts, wattHours } = await pdu.total(signal);
    add('wattage', 'PDU Power', text(watts, wattsText));
    add('energy', 'PDU Energy', text(wattHours, energyText));
    for (const outlet of await outlets.list(true, signal)) {
      add('power', `Outlet ${outlet.id} State`, outlet.state);
      add('current', `Outlet ${outlet.id} Current`, text(outlet.amps, ampsText));
      add('wattage', `Outlet ${outlet.id} Power`, text(outlet.watts, wattsText));
      add('energy', `Outlet ${outlet.id} Energy`, text(outlet.wattHours, energyText));
    }
    return lines;
  },
});

/** Which kinds a line belongs to, by its label. */
const kindsOf: readonly (readonly [label: string, kinds: readonly InventoryKind[]])[] = [
  ['PDU Software Version', ['firm']],
  ['PDU Machine Type', ['model', 'vpd']],
  ['PDU Model Number', ['model', 'vpd']],
  ['PDU Part Number', ['vpd']],
  ['PDU Serial Number', ['serial', 'vpd']],
];

export const pduInventory = (pdu: Pdu): Inventory => ({
  async read(kinds, signal): Promise<Labelled> {
    const lines: Record<string, string[]> = {};
    for (const { label, value } of await pdu.inventory(signal)) {
      const of = kindsOf.find(([known]) => known === label)?.[1] ?? ['misc'];
      if (kinds.length === 0 || kinds.some((kind) => of.includes(kind))) (lines[label] ??= []).push(value);
    }
    return lines;
  },
});
