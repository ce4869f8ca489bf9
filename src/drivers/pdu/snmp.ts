import { Fault } from '../../core/errors.ts';
import type { Binding, Oid } from '../../protocols/snmp/message.ts';
import { type SnmpAgent, type SnmpSession, withSession } from '../../protocols/snmp/session.ts';
import { integerValue, numberOf, oidOf, parseOid, textOf } from '../../protocols/snmp/values.ts';
import { kindsFor, kindsNamed, knownTypes, type PduKind } from './kinds.ts';
import { type KnownOutlet, orderEach, type Pdu, type PduFact } from './outlets.ts';

/** The largest PDUs have some fifty outlets, and several may be linked. */
const mostOutlets = 1_024;
const mostRows = 16_384;
const sysObjectId = parseOid('1.3.6.1.2.1.1.2.0');

type Measured = NonNullable<PduKind['outlets']['watts']>;
type Values = ReadonlyMap<string, number>;

export interface SnmpPduOptions {
  readonly agent: SnmpAgent;
  readonly type: string | undefined;
  readonly kinds: readonly PduKind[];
  /** How many outlets it has, as the definitions say; more are not believed. */
  readonly count: number | undefined;
}

/** A PDU by SNMP. What kind it is, is asked once. */
export function snmpPdu({ agent, type, kinds, count }: SnmpPduOptions): Pdu {
  let known: PduKind | undefined;
  const within = <T>(signal: AbortSignal, work: (session: SnmpSession, kind: PduKind) => Promise<T>): Promise<T> =>
    withSession(agent, signal, async (session) => work(session, (known ??= await kindOf(session, type, kinds))));
  return {
    outlets: (readings, signal) =>
      within(signal, async (session, kind) => {
        const rows = await session.walk(parseOid(kind.outlets.state.oid), mostOutlets);
        const outlets = outletsIn(rows, kind, count);
        return readings ? withReadings(session, outlets, kind) : outlets;
      }),
    order: (ordered, to, signal) =>
      within(signal, (session, { outlets }) => {
        const command = outlets[to]!;
        return orderEach(ordered, ({ handle }) => {
          const oid = [...parseOid(command.oid), ...handle.split('.').map(Number)];
          return session.set([{ oid, value: integerValue(command.value) }]);
        });
      }),
    total: (signal) =>
      within(signal, async (session, { total = {} }) => ({
        watts: sumOf(await measured(session, total.watts)),
        wattHours: sumOf(await measured(session, total.wattHours)),
      })),
    inventory: (signal) =>
      within(signal, async (session, { inventory }) => {
        const facts: PduFact[] = [];
        for (const [what, label] of Object.entries(inventoryLabels)) {
          const oid = inventory[what as keyof typeof inventory];
          const [first] = oid === undefined ? [] : await session.walk(parseOid(oid), mostOutlets);
          const value = textOf(first?.content);
          if (value !== '') facts.push({ label, value });
        }
        return facts;
      }),
  };
}

const inventoryLabels = {
  firmware: 'PDU Software Version',
  type: 'PDU Machine Type',
  model: 'PDU Model Number',
  part: 'PDU Part Number',
  name: 'PDU Name',
  serial: 'PDU Serial Number',
} as const satisfies Record<keyof PduKind['inventory'], string>;

async function kindOf(session: SnmpSession, type: string | undefined, kinds: readonly PduKind[]): Promise<PduKind> {
  const candidates = type === undefined ? await recognized(session, kinds) : kindsNamed(type, kinds);
  for (const kind of candidates) {
    if (kind.when) {
      const [found] = await session.get([parseOid(kind.when.oid)]);
      if (!textOf(found?.content).includes(kind.when.includes)) continue;
    }
    if ((await session.walk(parseOid(kind.outlets.state.oid), mostOutlets)).length > 0) return kind;
  }
  const tried = candidates.map(({ name }) => name).join(' or ');
  throw new Fault(
    'invalid',
    `it has no table of outlets as a PDU of kind ${tried} has; set its attribute pdutype to one of ${knownTypes.join(', ')}.`,
  );
}

/** An agent may say anything. */
function readableOid(object: Parameters<typeof oidOf>[0]): ReturnType<typeof oidOf> {
  try {
    return oidOf(object);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

async function recognized(session: SnmpSession, kinds: readonly PduKind[]): Promise<readonly PduKind[]> {
  const [object] = await session.get([sysObjectId]);
  const oid = object && readableOid(object);
  if (!oid) throw new Fault('garbled', 'its SNMP agent does not say what it is (sysObjectID).');
  const found = kindsFor(oid, kinds);
  if (found.length > 0) return found;
  throw new Fault(
    'invalid',
    `its SNMP agent calls itself ${oid.join('.')}, which is no PDU that muster knows; set its attribute pdutype to one of ${knownTypes.join(', ')}, or describe it in the file of the setting hardware.pduKinds.`,
  );
}

function outletsIn(rows: readonly Binding[], { outlets }: PduKind, count: number | undefined): KnownOutlet[] {
  const { state, from = 0, noSwitch } = outlets;
  const fixed = outlets.on && outlets.off ? undefined : (noSwitch ?? 'this kind of PDU only shows them');
  const isLinked = new Set(rows.map(({ oid }) => oid.slice(0, -1).join())).size > 1;
  return rows.slice(0, count).map((row) => {
    const number = row.oid.at(-1)! - from;
    const value = numberOf(row);
    const word = value === undefined ? 'unknown' : `unknown (${value})`;
    const isIn = (list: readonly number[]): boolean => value !== undefined && list.includes(value);
    return {
      id: isLinked ? [...row.oid.slice(0, -1), number].join('.') : String(number),
      handle: row.oid.join('.'),
      state: isIn(state.on) ? 'on' : isIn(state.off) ? 'off' : word,
      fixed,
    };
  });
}

async function withReadings(
  session: SnmpSession,
  outlets: readonly KnownOutlet[],
  { outlets: columns }: PduKind,
): Promise<readonly KnownOutlet[]> {
  const names = await texts(session, columns.name);
  const labels = await texts(session, columns.label);
  const [watts, amps, wattHours] = [
    await measured(session, columns.watts),
    await measured(session, columns.amps),
    await measured(session, columns.wattHours),
  ];
  return outlets.map((outlet) => ({
    ...outlet,
    name: [labels.get(outlet.handle), names.get(outlet.handle)].filter(Boolean).join(' ') || undefined,
    watts: watts.get(outlet.handle),
    amps: amps.get(outlet.handle),
    wattHours: wattHours.get(outlet.handle),
  }));
}

/** The columns of one reading, each read once: several measures may be in one. */
const columnsRead = new WeakMap<SnmpSession, Map<string, Promise<readonly Binding[]>>>();

function column(session: SnmpSession, oid: string | undefined): Promise<readonly Binding[]> {
  if (oid === undefined) return Promise.resolve([]);
  let read = columnsRead.get(session);
  if (!read) columnsRead.set(session, (read = new Map()));
  let rows = read.get(oid);
  if (!rows) read.set(oid, (rows = session.walk(parseOid(oid), mostRows)));
  return rows;
}

const texts = async (session: SnmpSession, oid: string | undefined): Promise<ReadonlyMap<string, string>> =>
  new Map((await column(session, oid)).map((row) => [row.oid.join('.'), textOf(row.content)]));

/** By what stands before the measure in the names of rows. */
async function measured(session: SnmpSession, of: Measured | undefined): Promise<Values> {
  if (!of) return new Map();
  const behind: Oid = of.behind === undefined ? [] : parseOid(of.behind);
  const inColumn = async (oid: string | undefined): Promise<Map<string, number>> =>
    new Map(
      (await column(session, oid)).flatMap((row): [string, number][] => {
        const [key, end] = [
          row.oid.slice(0, row.oid.length - behind.length),
          row.oid.slice(row.oid.length - behind.length),
        ];
        const value = numberOf(row);
        // -1: there is none, as some agents say it.
        return value === undefined || value < 0 || end.join() !== behind.join() ? [] : [[key.join('.'), value]];
      }),
    );
  const values = await inColumn(of.oid);
  const digits = await inColumn(of.digits);
  for (const [key, value] of values) values.set(key, (value * of.unit) / 10 ** Math.min(digits.get(key) ?? 0, 9));
  return values;
}

const sumOf = (values: Values): number | undefined =>
  values.size === 0 ? undefined : values.values().reduce((sum, value) => sum + value, 0);
