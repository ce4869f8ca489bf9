// Networks of IPv4 with the addresses in them, as numbers.
import { networks as texts } from '../texts/networks.ts';
import type { Attributes, NodesReply } from '../api/types.ts';

export interface Network {
  readonly name: string;
  readonly net: string;
  readonly mask: string;
  /** Undefined: of IPv6, of which addresses are not counted. */
  readonly range?: Range;
  /** Who has which addresses, by address. */
  readonly used: ReadonlyMap<number, string>;
  /** Given out by DHCP. */
  readonly dynamic?: Range;
}

/** Both ends are part of it. */
interface Range {
  readonly first: number;
  readonly last: number;
}

export const addressText = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');

function addressOf(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text.trim())?.slice(1).map(Number);
  if (!parts || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

/** The addresses that hosts can have, for a mask such as 255.255.0.0 or /16. */
function rangeOf(net: string, mask: string): Range | undefined {
  const start = addressOf(net);
  const bits = /^\/?(\d{1,2})$/.exec(mask.trim())?.[1];
  const size = bits === undefined ? 2 ** 32 - (addressOf(mask) ?? 2 ** 32) : 2 ** (32 - Number(bits));
  if (start === undefined || size < 1) return undefined;
  return size <= 2 ? { first: start, last: start + size - 1 } : { first: start + 1, last: start + size - 2 };
}

function dynamicOf(text: string): Range | undefined {
  const [first, last] = text.split('-').map(addressOf);
  return first === undefined || last === undefined ? undefined : { first, last };
}

const holders: readonly string[] = ['ip', 'bmc', 'nicips'];

/** Where addresses of nodes are, for a request. */
export const addressAttributes = holders.join(',');

export function networksOf(given: NodesReply, nodes: NodesReply): readonly Network[] {
  const all = Object.entries(nodes).flatMap(([name, attributes]) =>
    Object.entries(attributes).flatMap(([attribute, value]) => {
      // Each interface has an attribute of its own, such as nicips.eth1.
      const holder = attribute.split('.')[0]!;
      if (!holders.includes(holder)) return [];
      return [...value.matchAll(/(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/g)].flatMap(([text]) => {
        const address = addressOf(text);
        return address === undefined ? [] : [[address, holder === 'bmc' ? texts.bmcOf(name) : name] as const];
      });
    }),
  );
  return Object.entries(given).map(([name, attributes]) => networkOf(name, attributes, all));
}

function networkOf(name: string, attributes: Attributes, all: readonly (readonly [number, string])[]): Network {
  const { net = '', mask = '', gateway = '', dynamicrange = '' } = attributes;
  const range = rangeOf(net, mask);
  const dynamic = dynamicOf(dynamicrange);
  const isIn = (address: number): boolean => range !== undefined && address >= range.first && address <= range.last;
  const router = addressOf(gateway);
  const known = [...all, ...(router === undefined ? [] : [[router, 'gateway'] as const])];
  const used = new Map(known.filter(([address]) => isIn(address)));
  return { name, net, mask, used, ...(range && { range }), ...(dynamic && { dynamic }) };
}

const isBetween = (address: number, range: Range | undefined): boolean =>
  range !== undefined && address >= range.first && address <= range.last;

/** The first address that nobody has. */
export function firstFree({ range, used, dynamic }: Network): number | undefined {
  if (!range) return undefined;
  for (let address = range.first; address <= range.last; address++) {
    if (isBetween(address, dynamic)) address = dynamic!.last;
    else if (!used.has(address)) return address;
  }
  return undefined;
}

export interface Part {
  readonly first: number;
  readonly last: number;
  readonly used: number;
  readonly size: number;
  readonly isDynamic: boolean;
}

/** A network in so many equal parts, or one for each address where it has no more. */
export function partsOf({ range, used, dynamic }: Network, count: number): readonly Part[] {
  if (!range) return [];
  const size = Math.ceil((range.last - range.first + 1) / count);
  const taken = new Map<number, number>();
  for (const address of used.keys()) {
    const part = Math.floor((address - range.first) / size);
    taken.set(part, (taken.get(part) ?? 0) + 1);
  }
  return Array.from({ length: Math.ceil((range.last - range.first + 1) / size) }, (_, i) => {
    const first = range.first + i * size;
    const last = Math.min(range.last, first + size - 1);
    const isDynamic =
      isBetween(first, dynamic) ||
      isBetween(last, dynamic) ||
      (dynamic ? isBetween(dynamic.first, { first, last }) : false);
    return { first, last, used: taken.get(i) ?? 0, size: last - first + 1, isDynamic };
  });
}
