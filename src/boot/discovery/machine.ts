import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { canonicalAddress } from '../../access/addresses.ts';
import { Fault } from '../../core/errors.ts';
import { ipKind, parseIp } from '../../core/ip.ts';
import { bareText } from '../../objects/claims.ts';
import { isOneMachine, normalMac } from '../../core/mac.ts';

/** A machine as its ramdisk has described it. Anybody on a network can send such a description. */
export interface Machine {
  /** What it was to do when it booted; a machine that nobody knew `discover`. */
  readonly state: string;
  /** Of the interface it has booted from. */
  readonly mac: string;
  /** All of them, that one first. */
  readonly macs: readonly string[];
  readonly uuid: string | undefined;
  readonly serial: string | undefined;
  readonly manufacturer: string;
  readonly model: string;
  readonly arch: string;
  readonly cpus: number | undefined;
  readonly memoryMiB: number | undefined;
  readonly disks: readonly string[];
  /** The address of its BMC. */
  readonly bmc: string | undefined;
  /** What switches have announced to it. */
  readonly neighbours: readonly Neighbour[];
}

export interface Neighbour {
  readonly interface: string;
  readonly chassis: string;
  readonly port: string;
}

const Text = Type.String({ maxLength: 256 });
const maybe = <S extends Parameters<typeof Type.Optional>[0]>(schema: S) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

const reportSchema = Type.Object({
  macs: Type.Array(Type.Object({ name: maybe(Text), mac: Text }), { minItems: 1, maxItems: 64 }),
  state: maybe(Text),
  boot: maybe(Text),
  uuid: maybe(Text),
  serial: maybe(Text),
  manufacturer: maybe(Text),
  model: maybe(Text),
  arch: maybe(Text),
  cpus: maybe(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  memoryMiB: maybe(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
  disks: maybe(
    Type.Array(
      Type.Object({
        name: maybe(Text),
        bytes: maybe(Type.Integer({ minimum: 0 })),
        model: maybe(Text),
        serial: maybe(Text),
      }),
      { maxItems: 256 },
    ),
  ),
  bmc: maybe(Type.Object({ address: maybe(Text) })),
  lldp: maybe(
    Type.Array(Type.Object({ interface: maybe(Text), chassis: maybe(Text), port: maybe(Text) }), { maxItems: 64 }),
  ),
});
type Report = Static<typeof reportSchema>;

const validator = Compile(reportSchema);
const mostDisks = 16;
const mostOfInterface = 8;
/** A machine that waits is kept with no more of them. */
export const mostNeighbours = 32;
const longestText = 128;

/** Reads what a machine has sent of itself. */
export function readMachine(text: string): Machine {
  const report = parse(text);
  const macs = [report.boot ?? '', ...report.macs.map(({ mac }) => mac)]
    .map((mac) => normalMac(mac.trim()))
    .filter((mac) => mac !== undefined && isOneMachine(mac)) as string[];
  const [mac] = macs;
  if (mac === undefined) throw new Fault('malformed', 'The report names no MAC address that a machine can have.');
  return {
    state: plain(report.state) || 'discover',
    mac,
    macs: [...new Set(macs)],
    uuid: meaningfulUuid(plain(report.uuid)),
    serial: meaningfulSerial(plain(report.serial)),
    manufacturer: plain(report.manufacturer),
    model: plain(report.model),
    arch: plain(report.arch),
    cpus: report.cpus ?? undefined,
    memoryMiB: report.memoryMiB ?? undefined,
    disks: (report.disks ?? []).slice(0, mostDisks).map(diskText),
    bmc: hostAddress(plain(report.bmc?.address)),
    neighbours: neighboursIn(report),
  };
}

/** One interface hears several neighbours only behind a hub. */
function neighboursIn({ lldp }: Report): Neighbour[] {
  const all = (lldp ?? []).map((one) => ({
    interface: plain(one.interface),
    chassis: plain(one.chassis),
    port: plain(one.port),
  }));
  const named = all.filter(({ chassis, port }) => chassis !== '' && port !== '');
  const byInterface = Map.groupBy(named, (one) => one.interface).values();
  return [...byInterface].flatMap((heard) => heard.slice(0, mostOfInterface)).slice(0, mostNeighbours);
}

function parse(text: string): Report {
  let report: unknown;
  try {
    report = JSON.parse(text);
  } catch (error) {
    throw new Fault('malformed', 'The report is not JSON.', { cause: error });
  }
  if (validator.Check(report)) return report;
  const [problem] = validator.Errors(report);
  throw new Fault(
    'malformed',
    `The report is not as it should be: ${problem?.instancePath.slice(1) || 'it'} ${problem?.message ?? 'is wrong'}.`,
  );
}

/** What firmware says of itself may hold anything; in tables, `|` and `/` at the start and a word at the end mean something. */
const plain = (text: string | null | undefined): string =>
  (text ?? '')
    .replaceAll(/[^ -~]+/g, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .replace(/^[ |/]+/, '')
    .slice(0, longestText)
    .replace(/(\+=NEXTRECORD)+ *$/, '')
    .trim();

const diskText = ({ name, bytes, model, serial }: NonNullable<NonNullable<Report['disks']>>[number]): string =>
  [plain(name), bytes ? `${bytes} bytes` : '', plain(model), plain(serial)]
    .filter((part) => part !== '')
    .join(', ')
    .slice(0, longestText);

function hostAddress(text: string): string | undefined {
  const ip = parseIp(text);
  return ip && ['host', 'loopback'].includes(ipKind(ip)) ? canonicalAddress(text) : undefined;
}

/** What boards carry whose maker has not filled it in; many machines share it, so it distinguishes none. Compared without punctuation. */
const emptySerials = new Set([
  '',
  'NONE',
  'NA',
  'NULL',
  'UNKNOWN',
  'NOTSPECIFIED',
  'NOTAPPLICABLE',
  'NOTAVAILABLE',
  'DEFAULT',
  'DEFAULTSTRING',
  'EMPTY',
  'INVALID',
  'OEM',
  'SERIAL',
  'SERIALNUMBER',
  'SYSTEMSERIALNUMBER',
  'CHASSISSERIALNUMBER',
  'TOBEFILLEDBYOEM',
  'TOBEFILLED',
  '0123456789',
  '123456789',
  '1234567890',
]);

const emptyUuids = new Set(['03000200-0400-0500-0006-000700080009', '12345678-1234-5678-90ab-cddeefaabbcc']);

/** A serial number that is one machine's, or undefined. */
export function meaningfulSerial(text: string): string | undefined {
  const bare = bareText(text);
  return emptySerials.has(bare) || /^(.)\1*$/.test(bare) ? undefined : text;
}

/** A UUID that is one machine's, in lower case, or undefined. */
export function meaningfulUuid(text: string): string | undefined {
  const digits = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]{32}$/.test(digits) || /^(.)\1*$/.test(digits)) return undefined;
  const uuid = [8, 12, 16, 20, 32].map((end, at) => digits.slice([0, 8, 12, 16, 20][at], end)).join('-');
  return emptyUuids.has(uuid) ? undefined : uuid;
}
