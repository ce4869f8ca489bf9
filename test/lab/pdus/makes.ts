/** What PDUs of several makes answer by SNMP, as their MIBs have it; written apart from what muster knows of them. */

/** The name of an object, the kind of its value as snmprec has it, and the value. */
type Cell = readonly [oid: string, kind: '2' | '4' | '6' | '65' | '66', value: string | number];

export interface Make {
  readonly sysObjectId: string;
  /** Of a PDU with these outlets. */
  cells(pdu: string, outlets: number): readonly (Cell | Switched)[];
}

export interface Switched {
  readonly oid: string;
  readonly outlet: number;
  readonly role: 'state' | 'control';
  readonly on: number;
  readonly off: number;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
const rows = (count: number, row: (outlet: number) => readonly (Cell | Switched)[]): (Cell | Switched)[] =>
  numbers(count).flatMap(row);
const seen = (oid: string, outlet: number, on: number, off: number): Switched => ({
  oid,
  outlet,
  role: 'state',
  on,
  off,
});
const ordered = (oid: string, outlet: number, on: number, off: number): Switched => ({
  oid,
  outlet,
  role: 'control',
  on,
  off,
});

const apc = '1.3.6.1.4.1.318.1.1';
const px2 = '1.3.6.1.4.1.13742.6';
const px = '1.3.6.1.4.1.13742.4.1';
const eaton = '1.3.6.1.4.1.534.6.6.7';
const vertiv = '1.3.6.1.4.1.21239.5.2';
const sentry = '1.3.6.1.4.1.1718';
const ibm = '1.3.6.1.4.1.2.6.223';

/** Outlet n draws n * 100 W and n * 0.5 A, and has taken n * 1 kWh. */
export const makes = {
  'apc-rpdu2': {
    sysObjectId: '1.3.6.1.4.1.318.1.3.4.6',
    cells: (pdu, outlets) => [
      [`${apc}.26.2.1.3.1`, '4', pdu],
      [`${apc}.26.2.1.6.1`, '4', 'v6.5.6'],
      [`${apc}.26.2.1.8.1`, '4', 'AP8941'],
      [`${apc}.26.2.1.9.1`, '4', 'ZA1234567890'],
      [`${apc}.26.4.3.1.5.1`, '2', 123],
      [`${apc}.26.4.3.1.9.1`, '2', 45_678],
      ...rows(outlets, (n) => [
        [`${apc}.26.9.2.3.1.3.${n}`, '4', `Outlet ${n}`],
        seen(`${apc}.26.9.2.3.1.5.${n}`, n, 2, 1),
        ordered(`${apc}.26.9.2.4.1.5.${n}`, n, 1, 2),
        [`${apc}.26.9.4.3.1.6.${n}`, '2', n * 5],
        [`${apc}.26.9.4.3.1.7.${n}`, '2', n * 100],
        [`${apc}.26.9.4.3.1.11.${n}`, '2', n * 10],
      ]),
    ],
  },
  'apc-rpdu': {
    sysObjectId: '1.3.6.1.4.1.318.1.3.4.5',
    cells: (pdu, outlets) => [
      [`${apc}.12.1.1.0`, '4', pdu],
      [`${apc}.12.1.5.0`, '4', 'AP7900'],
      ...rows(outlets, (n) => [
        ordered(`${apc}.12.3.3.1.1.4.${n}`, n, 1, 2),
        [`${apc}.12.3.5.1.1.2.${n}`, '4', `Outlet ${n}`],
        seen(`${apc}.12.3.5.1.1.4.${n}`, n, 1, 2),
        [`${apc}.12.3.5.1.1.7.${n}`, '66', n * 5],
      ]),
    ],
  },
  'raritan-px2': {
    sysObjectId: '1.3.6.1.4.1.13742.6',
    cells: (pdu, outlets) => [
      [`${px2}.3.2.1.1.3.1`, '4', 'PX3-5190R'],
      [`${px2}.3.2.1.1.4.1`, '4', 'QHD1234567'],
      [`${px2}.3.2.2.1.13.1`, '4', pdu],
      ...rows(outlets, (n) => [
        [`${px2}.3.5.3.1.2.1.${n}`, '4', String(n)],
        [`${px2}.3.5.3.1.3.1.${n}`, '4', `server ${n}`],
        [`${px2}.3.5.4.1.7.1.${n}.1`, '66', 3],
        [`${px2}.3.5.4.1.7.1.${n}.5`, '66', 0],
        [`${px2}.3.5.4.1.7.1.${n}.8`, '66', 0],
        ordered(`${px2}.4.1.2.1.2.1.${n}`, n, 1, 0),
        seen(`${px2}.4.1.2.1.3.1.${n}`, n, 7, 8),
        [`${px2}.5.4.3.1.4.1.${n}.1`, '66', n * 500],
        [`${px2}.5.4.3.1.4.1.${n}.4`, '66', 230],
        [`${px2}.5.4.3.1.4.1.${n}.5`, '66', n * 100],
        [`${px2}.5.4.3.1.4.1.${n}.8`, '66', n * 1_000],
      ]),
    ],
  },
  'raritan-px': {
    sysObjectId: '1.3.6.1.4.1.13742.1',
    cells: (_pdu, outlets) => [
      [`${px}.1.1.0`, '4', '1.5.5'],
      [`${px}.1.2.0`, '4', 'AEX123'],
      ...rows(outlets, (n) => [
        [`${px}.2.2.1.2.${n}`, '4', `server ${n}`],
        seen(`${px}.2.2.1.3.${n}`, n, 1, 0),
        [`${px}.2.2.1.4.${n}`, '66', n * 500],
        [`${px}.2.2.1.7.${n}`, '66', n * 100],
        [`${px}.2.2.1.31.${n}`, '66', n * 1_000],
      ]),
    ],
  },
  'eaton-epdu': {
    sysObjectId: '1.3.6.1.4.1.534.6.6.7',
    cells: (_pdu, outlets) => [
      [`${eaton}.1.2.1.2.0`, '4', 'EPDU MA 0U'],
      [`${eaton}.1.2.1.4.0`, '4', 'H123B45678'],
      ...rows(outlets, (n) => [
        [`${eaton}.6.1.1.3.0.${n}`, '4', `Outlet A${n}`],
        [`${eaton}.6.4.1.3.0.${n}`, '66', n * 500],
        [`${eaton}.6.5.1.3.0.${n}`, '66', n * 100],
        [`${eaton}.6.5.1.4.0.${n}`, '65', n * 1_000],
        seen(`${eaton}.6.6.1.2.0.${n}`, n, 1, 0),
        // Both are seconds; what is not 0 means off to the lab.
        { oid: `${eaton}.6.6.1.3.0.${n}`, outlet: n, role: 'control', on: -1, off: 0 },
        { oid: `${eaton}.6.6.1.4.0.${n}`, outlet: n, role: 'control', on: 0, off: -1 },
      ]),
    ],
  },
  'vertiv-geist': {
    sysObjectId: '1.3.6.1.4.1.21239.5.2',
    cells: (_pdu, outlets) => [
      [`${vertiv}.1.2.0`, '4', '5.10.4'],
      [`${vertiv}.1.10.0`, '4', '60000123'],
      ...rows(outlets, (n) => [
        [`${vertiv}.3.5.1.3.${n}`, '4', `Outlet ${n}`],
        seen(`${vertiv}.3.5.1.4.${n}`, n, 1, 2),
        ordered(`${vertiv}.3.5.1.6.${n}`, n, 2, 4),
        [`${vertiv}.3.6.1.8.${n}`, '66', n * 50],
        [`${vertiv}.3.6.1.12.${n}`, '66', n * 100],
        [`${vertiv}.3.6.1.15.${n}`, '66', n * 1_000],
      ]),
    ],
  },
  'servertech-sentry4': {
    sysObjectId: '1.3.6.1.4.1.1718.4',
    cells: (_pdu, outlets) => [
      [`${sentry}.4.1.1.1.3.0`, '4', 'Version 8.0'],
      [`${sentry}.4.1.2.2.1.5.1`, '4', 'C2WG36TE'],
      ...rows(outlets, (n) => [
        [`${sentry}.4.1.8.2.1.2.1.1.${n}`, '4', `AA${n}`],
        seen(`${sentry}.4.1.8.3.1.1.1.1.${n}`, n, 1, 0),
        [`${sentry}.4.1.8.3.1.3.1.1.${n}`, '2', n * 50],
        [`${sentry}.4.1.8.3.1.7.1.1.${n}`, '2', n * 100],
        [`${sentry}.4.1.8.3.1.14.1.1.${n}`, '2', n * 1_000],
        ordered(`${sentry}.4.1.8.5.1.2.1.1.${n}`, n, 1, 2),
      ]),
    ],
  },
  'servertech-sentry3': {
    sysObjectId: '1.3.6.1.4.1.1718.3',
    cells: (_pdu, outlets) => [
      [`${sentry}.3.1.1.0`, '4', 'Version 7.1'],
      ...rows(outlets, (n) => [
        [`${sentry}.3.2.3.1.2.1.1.${n}`, '4', `A${n}`],
        seen(`${sentry}.3.2.3.1.5.1.1.${n}`, n, 1, 0),
        [`${sentry}.3.2.3.1.7.1.1.${n}`, '2', n * 50],
        ordered(`${sentry}.3.2.3.1.11.1.1.${n}`, n, 1, 2),
        [`${sentry}.3.2.3.1.14.1.1.${n}`, '2', n * 100],
        [`${sentry}.3.2.3.1.18.1.1.${n}`, '2', n * 1_000],
      ]),
    ],
  },
  ibm: {
    sysObjectId: '1.3.6.1.4.1.2.6.223',
    cells: (pdu, outlets) => [
      [`${ibm}.7.3.0`, '4', 'OPDP_sIBM_v01.3_2'],
      [`${ibm}.7.7.0`, '4', pdu],
      ...rows(outlets, (n) => [
        [`${ibm}.8.2.2.1.2.${n}`, '4', `Outlet ${n}`],
        [`${ibm}.8.2.2.1.7.${n}`, '2', n * 500],
        seen(`${ibm}.8.2.2.1.11.${n}`, n, 1, 0),
        [`${ibm}.8.2.2.1.13.${n}`, '2', n * 100],
      ]),
    ],
  },
  'ibm-lenovo': {
    sysObjectId: '1.3.6.1.4.1.2.6.223',
    cells: (_pdu, outlets) => [
      [`${ibm}.7.3.0`, '4', 'OPDP_sLEN_v02.0_1'],
      ...rows(outlets, (n) => [
        [`${ibm}.8.2.2.1.7.${n}`, '2', n * 500],
        [`${ibm}.8.2.2.1.11.${n}`, '2', 7],
        seen(`${ibm}.8.2.2.1.13.${n}`, n, 1, 0),
      ]),
    ],
  },
} as const satisfies Readonly<Record<string, Make>>;

export type MakeName = keyof typeof makes;

const inOrder = (a: readonly number[], b: readonly number[]): number => {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? a.length - b.length : b[at] === undefined ? 1 : a[at]! - b[at];
};

/** The recording of one PDU: its agent finds records by their order. */
export function recordingOf(pdu: string, name: MakeName, outlets: number): string {
  const { sysObjectId, cells } = makes[name] as Make;
  const lines = [
    ['1.3.6.1.2.1.1.1.0', '4', `a PDU of the lab (${name})`] as const,
    ['1.3.6.1.2.1.1.2.0', '6', sysObjectId] as const,
    ...cells(pdu, outlets),
  ].map((cell) => {
    if (!('role' in cell)) return { oid: cell[0], line: cell.join('|') };
    const { oid, outlet, role, on, off } = cell;
    return { oid, line: `${oid}|2:outlet|pdu=${pdu},outlet=${outlet},role=${role},on=${on},off=${off}` };
  });
  const keyed = lines.map(({ oid, line }) => ({ key: oid.split('.').map(Number), line }));
  return `${keyed
    .sort((a, b) => inOrder(a.key, b.key))
    .map(({ line }) => line)
    .join('\n')}\n`;
}
