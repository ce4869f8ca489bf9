import type { Oid } from '../../protocols/snmp/message.ts';
import { isBelow, parseOid } from '../../protocols/snmp/values.ts';

/** A column of numbers, and what one of them is worth: `unit` 0.1 is tenths. */
interface Measured {
  readonly oid: string;
  readonly unit: number;
  /** The last numbers of the names of its rows, behind those of the outlet: a table that holds several measures of each. */
  readonly behind?: string;
  /** A column with the number of decimal digits of each value, instead of `unit`. */
  readonly digits?: string;
}

interface Command {
  readonly oid: string;
  readonly value: number;
}

/** Where PDUs of one make keep what, by SNMP. Columns are named without the numbers of a row, single values with all of them. */
export interface PduKind {
  readonly name: string;
  /** The beginnings of sysObjectID that say so. */
  readonly objects: readonly string[];
  /** A single value that must have this text in it: makes of one family differ by it. */
  readonly when?: { readonly oid: string; readonly includes: string };
  readonly outlets: {
    /** Its rows are the outlets. */
    readonly state: { readonly oid: string; readonly on: readonly number[]; readonly off: readonly number[] };
    /** Absent: they cannot be switched this way. */
    readonly on?: Command;
    readonly off?: Command;
    /** Why they cannot be switched, to follow "cannot be switched: ". */
    readonly noSwitch?: string;
    /** What is subtracted from the number of a row: of tables that begin with another. */
    readonly from?: number;
    readonly name?: string;
    /** What is printed beside it, such as AA3. */
    readonly label?: string;
    readonly watts?: Measured;
    readonly amps?: Measured;
    readonly wattHours?: Measured;
  };
  /** Of the PDU as a whole: columns, whose rows are added up. */
  readonly total?: { readonly watts?: Measured; readonly wattHours?: Measured };
  /** Columns or single values; the first row counts. */
  readonly inventory: Readonly<Partial<Record<'model' | 'serial' | 'firmware' | 'name' | 'type' | 'part', string>>>;
}

const command = (oid: string, value: number): Command => ({ oid, value });
const apc = '1.3.6.1.4.1.318.1.1';
const px2 = '1.3.6.1.4.1.13742.6';
const px1 = '1.3.6.1.4.1.13742.4.1';
const eaton = '1.3.6.1.4.1.534.6.6.7';
const vertiv = '1.3.6.1.4.1.21239.5.2';
const sentry3 = '1.3.6.1.4.1.1718.3';
const sentry4 = '1.3.6.1.4.1.1718.4.1';
const ibm = '1.3.6.1.4.1.2.6.223';
const coral = '1.3.6.1.4.1.2.6.262.15.2';

/** The name of a kind is a value of the attribute pdutype. Of several that fit, the first whose table of outlets has rows is taken. */
export const pduKinds: readonly PduKind[] = [
  {
    name: 'apc-rpdu2',
    objects: ['1.3.6.1.4.1.318.1.3.4'],
    outlets: {
      state: { oid: `${apc}.26.9.2.3.1.5`, on: [2], off: [1] },
      on: command(`${apc}.26.9.2.4.1.5`, 1),
      off: command(`${apc}.26.9.2.4.1.5`, 2),
      name: `${apc}.26.9.2.3.1.3`,
      watts: { oid: `${apc}.26.9.4.3.1.7`, unit: 1 },
      amps: { oid: `${apc}.26.9.4.3.1.6`, unit: 0.1 },
      wattHours: { oid: `${apc}.26.9.4.3.1.11`, unit: 100 },
    },
    total: {
      watts: { oid: `${apc}.26.4.3.1.5`, unit: 10 },
      wattHours: { oid: `${apc}.26.4.3.1.9`, unit: 100 },
    },
    inventory: {
      model: `${apc}.26.2.1.8`,
      serial: `${apc}.26.2.1.9`,
      firmware: `${apc}.26.2.1.6`,
      name: `${apc}.26.2.1.3`,
    },
  },
  {
    name: 'apc-rpdu',
    objects: ['1.3.6.1.4.1.318.1.3.4'],
    outlets: {
      state: { oid: `${apc}.12.3.5.1.1.4`, on: [1], off: [2] },
      on: command(`${apc}.12.3.3.1.1.4`, 1),
      off: command(`${apc}.12.3.3.1.1.4`, 2),
      name: `${apc}.12.3.5.1.1.2`,
      amps: { oid: `${apc}.12.3.5.1.1.7`, unit: 0.1 },
    },
    total: { watts: { oid: `${apc}.12.1.16`, unit: 1 } },
    inventory: {
      model: `${apc}.12.1.5`,
      serial: `${apc}.12.1.6`,
      firmware: `${apc}.12.1.3`,
      name: `${apc}.12.1.1`,
    },
  },
  {
    // PDU2-MIB: PX2, PX3 and others; the reference system calls these genpdu.
    name: 'raritan-px2',
    objects: [px2],
    outlets: {
      state: { oid: `${px2}.4.1.2.1.3`, on: [7], off: [8] },
      on: command(`${px2}.4.1.2.1.2`, 1),
      off: command(`${px2}.4.1.2.1.2`, 0),
      name: `${px2}.3.5.3.1.3`,
      label: `${px2}.3.5.3.1.2`,
      watts: { oid: `${px2}.5.4.3.1.4`, unit: 1, behind: '5', digits: `${px2}.3.5.4.1.7` },
      amps: { oid: `${px2}.5.4.3.1.4`, unit: 1, behind: '1', digits: `${px2}.3.5.4.1.7` },
      wattHours: { oid: `${px2}.5.4.3.1.4`, unit: 1, behind: '8', digits: `${px2}.3.5.4.1.7` },
    },
    total: {
      watts: { oid: `${px2}.5.2.3.1.4`, unit: 1, behind: '5', digits: `${px2}.3.3.4.1.7` },
      wattHours: { oid: `${px2}.5.2.3.1.4`, unit: 1, behind: '8', digits: `${px2}.3.3.4.1.7` },
    },
    inventory: {
      model: `${px2}.3.2.1.1.3`,
      serial: `${px2}.3.2.1.1.4`,
      firmware: `${px2}.3.2.3.1.6`,
      name: `${px2}.3.2.2.1.13`,
    },
  },
  {
    name: 'raritan-px',
    objects: ['1.3.6.1.4.1.13742.4', '1.3.6.1.4.1.13742.1'],
    outlets: {
      state: { oid: `${px1}.2.2.1.3`, on: [1], off: [0] },
      on: command(`${px1}.2.2.1.3`, 1),
      off: command(`${px1}.2.2.1.3`, 0),
      name: `${px1}.2.2.1.2`,
      watts: { oid: `${px1}.2.2.1.7`, unit: 1 },
      amps: { oid: `${px1}.2.2.1.4`, unit: 0.001 },
      wattHours: { oid: `${px1}.2.2.1.31`, unit: 1 },
    },
    total: { watts: { oid: `${px1}.3.1.3`, unit: 1 } },
    inventory: { serial: `${px1}.1.2`, firmware: `${px1}.1.1` },
  },
  {
    name: 'eaton-epdu',
    objects: [eaton],
    outlets: {
      state: { oid: `${eaton}.6.6.1.2`, on: [1], off: [0] },
      // In so many seconds.
      on: command(`${eaton}.6.6.1.4`, 0),
      off: command(`${eaton}.6.6.1.3`, 0),
      name: `${eaton}.6.1.1.3`,
      watts: { oid: `${eaton}.6.5.1.3`, unit: 1 },
      amps: { oid: `${eaton}.6.4.1.3`, unit: 0.001 },
      wattHours: { oid: `${eaton}.6.5.1.4`, unit: 1 },
    },
    total: { watts: { oid: `${eaton}.3.5.1.4`, unit: 1 }, wattHours: { oid: `${eaton}.3.5.1.5`, unit: 1 } },
    inventory: {
      model: `${eaton}.1.2.1.2`,
      part: `${eaton}.1.2.1.3`,
      serial: `${eaton}.1.2.1.4`,
      firmware: `${eaton}.1.2.1.5`,
      name: `${eaton}.1.2.1.6`,
    },
  },
  {
    name: 'vertiv-geist',
    objects: ['1.3.6.1.4.1.21239.5'],
    outlets: {
      state: { oid: `${vertiv}.3.5.1.4`, on: [1, 3, 5], off: [2, 4, 6] },
      on: command(`${vertiv}.3.5.1.6`, 2),
      off: command(`${vertiv}.3.5.1.6`, 4),
      name: `${vertiv}.3.5.1.3`,
      watts: { oid: `${vertiv}.3.6.1.12`, unit: 1 },
      amps: { oid: `${vertiv}.3.6.1.8`, unit: 0.01 },
      wattHours: { oid: `${vertiv}.3.6.1.15`, unit: 1 },
    },
    total: { watts: { oid: `${vertiv}.3.1.1.9`, unit: 1 }, wattHours: { oid: `${vertiv}.3.1.1.12`, unit: 1 } },
    inventory: {
      model: `${vertiv}.1.8`,
      part: `${vertiv}.1.9`,
      serial: `${vertiv}.1.10`,
      firmware: `${vertiv}.1.2`,
      name: `${vertiv}.1.3`,
    },
  },
  {
    name: 'servertech-sentry4',
    objects: ['1.3.6.1.4.1.1718.4'],
    outlets: {
      state: { oid: `${sentry4}.8.3.1.1`, on: [1], off: [0] },
      on: command(`${sentry4}.8.5.1.2`, 1),
      off: command(`${sentry4}.8.5.1.2`, 2),
      name: `${sentry4}.8.2.1.3`,
      label: `${sentry4}.8.2.1.2`,
      watts: { oid: `${sentry4}.8.3.1.7`, unit: 1 },
      amps: { oid: `${sentry4}.8.3.1.3`, unit: 0.01 },
      wattHours: { oid: `${sentry4}.8.3.1.14`, unit: 1 },
    },
    total: { watts: { oid: `${sentry4}.3.3.1.3`, unit: 1 } },
    inventory: {
      model: `${sentry4}.2.2.1.5`,
      serial: `${sentry4}.2.2.1.4`,
      firmware: `${sentry4}.1.1.3`,
      type: `${sentry4}.1.1.1`,
    },
  },
  {
    name: 'servertech-sentry3',
    objects: ['1.3.6.1.4.1.1718.3'],
    outlets: {
      state: { oid: `${sentry3}.2.3.1.5`, on: [1], off: [0] },
      on: command(`${sentry3}.2.3.1.11`, 1),
      off: command(`${sentry3}.2.3.1.11`, 2),
      name: `${sentry3}.2.3.1.3`,
      label: `${sentry3}.2.3.1.2`,
      watts: { oid: `${sentry3}.2.3.1.14`, unit: 1 },
      amps: { oid: `${sentry3}.2.3.1.7`, unit: 0.01 },
      wattHours: { oid: `${sentry3}.2.3.1.18`, unit: 1 },
    },
    total: { watts: { oid: `${sentry3}.1.6`, unit: 1 } },
    inventory: { model: `${sentry3}.2.1.1.7`, serial: `${sentry3}.2.1.1.6`, firmware: `${sentry3}.1.1` },
  },
  {
    // Of IBM; the reference system calls these irpdu. Newer ones of Lenovo have the state two columns further.
    name: 'ibm-lenovo',
    objects: [ibm],
    when: { oid: `${ibm}.7.3.0`, includes: 'sLEN' },
    outlets: {
      state: { oid: `${ibm}.8.2.2.1.13`, on: [1], off: [0] },
      on: command(`${ibm}.8.2.2.1.13`, 1),
      off: command(`${ibm}.8.2.2.1.13`, 0),
      name: `${ibm}.8.2.2.1.2`,
      amps: { oid: `${ibm}.8.2.2.1.7`, unit: 0.001 },
    },
    inventory: {
      firmware: `${ibm}.7.3`,
      type: `${ibm}.7.4`,
      model: `${ibm}.7.5`,
      part: `${ibm}.7.6`,
      name: `${ibm}.7.7`,
      serial: `${ibm}.7.9`,
    },
  },
  {
    name: 'ibm',
    objects: [ibm],
    outlets: {
      state: { oid: `${ibm}.8.2.2.1.11`, on: [1], off: [0] },
      on: command(`${ibm}.8.2.2.1.11`, 1),
      off: command(`${ibm}.8.2.2.1.11`, 0),
      name: `${ibm}.8.2.2.1.2`,
      watts: { oid: `${ibm}.8.2.2.1.13`, unit: 1 },
      amps: { oid: `${ibm}.8.2.2.1.7`, unit: 0.001 },
    },
    inventory: {
      firmware: `${ibm}.7.3`,
      type: `${ibm}.7.4`,
      model: `${ibm}.7.5`,
      part: `${ibm}.7.6`,
      name: `${ibm}.7.7`,
      serial: `${ibm}.7.9`,
    },
  },
  {
    // Its relays are the rows 13, 14 and 15 of a list.
    name: 'crpdu',
    objects: ['1.3.6.1.4.1.2.6.262.15'],
    outlets: {
      state: { oid: coral, on: [1], off: [0] },
      from: 12,
      noSwitch: 'a PDU of pdutype crpdu is switched by a program on it, and muster only reads its relays',
    },
    inventory: {},
  },
];

/** What the reference system calls them, and families. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  irpdu: ['ibm-lenovo', 'ibm'],
  genpdu: ['raritan-px2'],
  apc: ['apc-rpdu2', 'apc-rpdu'],
};

export const redfishType = 'redfish';

export const knownTypes: readonly string[] = [
  ...pduKinds.map(({ name }) => name),
  ...Object.keys(otherNames),
  redfishType,
];

/** By the attribute pdutype. */
export function kindsNamed(type: string, kinds: readonly PduKind[]): readonly PduKind[] {
  const names = (Object.hasOwn(otherNames, type) && otherNames[type]) || [type];
  return kinds.filter(({ name }) => names.includes(name));
}

/** What a PDU may be by its sysObjectID; the longest beginning that fits says most. */
export function kindsFor(object: Oid, kinds: readonly PduKind[]): readonly PduKind[] {
  const fits = (kind: PduKind): number =>
    Math.max(0, ...kind.objects.map(parseOid).map((oid) => (isBelow([...object, 0], oid) ? oid.length : 0)));
  const most = Math.max(...kinds.map(fits));
  return most === 0 ? [] : kinds.filter((kind) => fits(kind) === most);
}
