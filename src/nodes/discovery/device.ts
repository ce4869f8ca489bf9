import { isIP, isIPv4 } from 'node:net';
import { isSameIp, parseIp } from '../../core/ip.ts';
import type { SlpService } from '../../protocols/slp/service.ts';
import type { RedfishAdvert } from '../../protocols/ssdp/search.ts';

/** What a device is managed by and how its definition names its address. */
export interface Kind {
  /** The reference system's word for it, in small letters. */
  readonly name: string;
  readonly nodetype: string;
  readonly mgt: string | undefined;
  /** The attribute that says where it is managed. */
  readonly contact: 'hcp' | 'mpa' | 'bmc';
  readonly services: readonly string[];
}

const hardware = 'service:management-hardware.IBM';
const software = 'service:management-software.IBM';
const lenovo = 'service:management-hardware.Lenovo';

const power = { nodetype: 'ppc', contact: 'hcp' } as const;
const blade = { nodetype: 'mp', mgt: 'blade', contact: 'mpa' } as const;
const server = { nodetype: 'mp', mgt: 'ipmi', contact: 'bmc' } as const;

export const kinds = {
  fsp: { name: 'fsp', ...power, mgt: 'fsp', services: [`${hardware}:cec-service-processor`] },
  bpa: { name: 'bpa', ...power, mgt: 'bpa', services: [`${hardware}:bulk-power-controller`] },
  hmc: { name: 'hmc', ...power, mgt: 'hmc', services: [`${software}:hardware-management-console`] },
  ivm: { name: 'ivm', ...power, mgt: 'ivm', services: [`${software}:integrated-virtualization-manager`] },
  mm: { name: 'mm', ...blade, services: [`${hardware}:management-module`] },
  cmm: { name: 'cmm', ...blade, services: [`${hardware}:chassis-management-module`] },
  rsa: {
    name: 'rsa',
    ...blade,
    services: [`${hardware}:remote-supervisor-adapter`, `${hardware}:remote-supervisor-adapter-2`],
  },
  imm2: { name: 'imm2', ...server, services: [`${hardware}:integrated-management-module2`] },
  xcc: { name: 'xcc', ...server, services: [`${lenovo}:lenovo-xclarity-controller`] },
  smm: { name: 'smm', ...server, services: ['service:lenovo-smm', 'service:lenovo-smm2'] },
  redfish: { name: 'redfish', ...server, mgt: 'redfish', services: [] },
  // These two announce nothing: their BMCs and power controllers do it for them.
  cec: { name: 'cec', ...power, mgt: 'fsp', services: [] },
  frame: { name: 'frame', ...power, mgt: 'bpa', services: [] },
} as const satisfies Record<string, Kind>;

/** Abstract types: whoever is of the family answers, known here or not. */
const families = [hardware, software, lenovo];

const announcing: readonly Kind[] = Object.values(kinds).filter(({ services }) => services.length > 0);

/** The types of services in small letters with their kinds, and the kinds by the last part of the type. */
const byService = announcing.flatMap((kind) => kind.services.map((service) => [service.toLowerCase(), kind] as const));
const byLastPart = new Map(byService.map(([service, kind]) => [service.slice(service.lastIndexOf(':') + 1), kind]));
const familyTypes = families.map((family) => family.toLowerCase());

const ownWords = ['mm', 'ivm', 'rsa', 'hmc', 'cmm', 'imm2', 'fsp', 'bpa', 'xcc', 'smm', 'redfish'] as const;

/** The kinds of devices that can be asked for, by the words the reference system has for them and our own. */
export const askable: Readonly<Record<string, Kind>> = {
  CEC: kinds.fsp,
  FRAME: kinds.bpa,
  ...Object.fromEntries(ownWords.map((word) => [word.toUpperCase(), kinds[word]])),
};

/** The service types to ask for; without a kind, for all there are. */
export const servicesOf = (asked: Kind | undefined): readonly string[] =>
  asked?.services ?? [...announcing.flatMap(({ services }) => services), ...families];

/**
 * The kind of a device by the type of its service, which a protocol may follow, and what its attribute `type` says; that one goes
 * first: newer devices are also found by the types of their forerunners. Undefined: a service of something else.
 */
export function kindOfService(type: string, said: readonly string[] = []): Kind | undefined {
  const given = type.toLowerCase();
  const known =
    said.map((each) => byLastPart.get(each.toLowerCase())).find((kind) => kind !== undefined) ??
    byService.find(([service]) => isOf(given, service))?.[1];
  if (known) return known;
  if (!familyTypes.some((family) => isOf(given, family))) return undefined;
  const [family = '', ...rest] = given.replace(/^service:/, '').split(':');
  const name = (rest.join('') || family.replace(/\..*/, '')).replaceAll(/[^a-z0-9-]/g, '');
  return { name, nodetype: 'mp', mgt: undefined, contact: 'bmc', services: [] };
}

/** Whether it is of the type, which a protocol may follow. */
const isOf = (given: string, service: string): boolean =>
  given.startsWith(service) && (given.length === service.length || given[service.length] === ':');

/** Newer kinds have higher numbers than their forerunners; -1 for a kind that nobody knows. */
export const rankOf = (kind: Kind): number => announcing.indexOf(kind);

/** A device as it has announced itself; what it did not say is empty. */
export interface Device {
  readonly kind: Kind;
  readonly address: string;
  /** The address in the URL it announces where that is another one than it answered from; else empty. */
  readonly announced: string;
  /** All its addresses, in its own order. */
  readonly addresses: readonly string[];
  readonly mtm: string;
  readonly serial: string;
  readonly hostname: string;
  readonly mac: string;
  readonly uuid: string;
  readonly slot: string;
  readonly frame: string;
  readonly cage: string;
  /** Model and serial number of the frame's power controller. */
  readonly frameMtm: string;
  readonly frameSerial: string;
}

const longestValue = 255;

/** What devices say is shown to people and may become attributes, so nothing unprintable comes through. */
const clean = (text: string): string =>
  text
    .replaceAll(/[\p{C}\ufffd]/gu, '')
    .trim()
    .slice(0, longestValue);

/** Chassis and servers describe their enclosure and themselves; which of the two names the device depends on its kind. */
const ofEnclosure: ReadonlySet<Kind> = new Set([kinds.mm, kinds.rsa, kinds.imm2, kinds.cmm]);

/** Undefined: a service that is not of the kind we look for. */
export function announcedDevice({ type, url, address, fromDirectory, attributes }: SlpService): Device | undefined {
  const kind = kindOfService(type, attributes.get('type'));
  if (!kind) return undefined;
  const all = (name: string): string[] => (attributes.get(name) ?? []).map(clean).filter((value) => value !== '');
  const first = (...names: string[]): string => names.flatMap(all)[0] ?? '';
  const addresses = [
    ...new Set(['ip-address', 'ipv4-address', 'ipv6-address'].flatMap(all).filter((one) => isIP(one))),
  ];
  const own = ['machinetype-model', 'serial-number'] as const;
  const enclosing = ['enclosure-machinetype-model', 'enclosure-serial-number'] as const;
  const [near, far] = ofEnclosure.has(kind) ? [enclosing, own] : [own, enclosing];
  return {
    kind,
    // A directory's own address says nothing of the device.
    announced: fromDirectory ? '' : otherAddress(url, address),
    address: fromDirectory ? (hostOf(url) ?? addresses[0] ?? address) : address,
    addresses,
    mtm: first(...(kind === kinds.cmm ? ['enclosure-mtm'] : []), near[0], far[0]),
    serial: first(near[1], far[1]),
    hostname: first('hostname', 'mm-name'),
    mac: macOf(first('mac-address')),
    uuid: uuidOf(first('uuid', 'system-uuid')),
    slot: numberOf(first('slot')),
    frame: numberOf(first('frame-number')),
    cage: numberOf(first('cage-number')),
    frameMtm: known(first('bpc-machinetype-model')),
    frameSerial: known(first('bpc-serial-number')),
  };
}

const nothing = {
  mtm: '',
  serial: '',
  hostname: '',
  mac: '',
  slot: '',
  frame: '',
  cage: '',
  frameMtm: '',
  frameSerial: '',
};

export const advertisedDevice = ({ address, uuid, url = '' }: RedfishAdvert): Device => ({
  ...nothing,
  kind: kinds.redfish,
  address,
  announced: otherAddress(url, address),
  addresses: [address],
  uuid,
});

/** The address in a URL, if it has one and no name. */
function hostOf(url: string): string | undefined {
  const match = /:\/\/(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?:[:/;]|$)/i.exec(url);
  const host = match?.[1] ?? match?.[2] ?? '';
  return isIP(host) ? host : undefined;
}

/** The address in a URL unless it is that of the sender. A link-local sender has its interface behind a "%". */
function otherAddress(url: string, sender: string): string {
  const host = hostOf(url);
  if (host === undefined) return '';
  const [said, from] = [parseIp(host), parseIp(sender.replace(/%.*/, ''))];
  return said && from && isSameIp(said, from) ? '' : host;
}

const numberOf = (text: string): string => (/^\d{1,9}$/.test(text) ? String(Number(text)) : '');
const known = (text: string): string => (text === '0' ? '' : text);
const macOf = (text: string): string => {
  const digits = text.replaceAll(/[:.-]/g, '').toLowerCase();
  return /^[0-9a-f]{12}$/.test(digits) ? digits.match(/../g)!.join(':') : '';
};
const uuidOf = (text: string): string => {
  const digits = text.replaceAll('-', '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(digits) ? digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : '';
};

/** Addresses that BMCs have before anybody has given them one. */
const factory = /^(192\.168\.[23]\.14[4-9]$|169\.254\.|127\.|0\.)/;

/** The addresses of a BMC with two ports, each with its number in the list; unused ports are left out. */
export function portsOf({ address, addresses }: Device): (readonly [address: string, port: number])[] {
  const listed = addresses.includes(address) || !isIPv4(address) ? addresses : [address];
  const ports = listed.flatMap((each, i) =>
    each === address || (isIPv4(each) && !factory.test(each)) ? [[each, i] as const] : [],
  );
  return ports.length > 0 ? ports : [[address, 0]];
}
