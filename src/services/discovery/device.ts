import { isIP, isIPv4 } from 'node:net';
import { isSameIp, parseIp } from '../../core/ip.ts';
import type { SlpService } from '../../protocols/slp/service.ts';
import type { RedfishAdvert } from '../../protocols/ssdp/search.ts';
import { type Kind, kindOfService, kinds } from './kinds.ts';

/** A device as it has announced itself; what it did not tell is empty. */
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

/** Chassis and servers tell of their enclosure and of themselves; which of the two names the device depends on its kind. */
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
