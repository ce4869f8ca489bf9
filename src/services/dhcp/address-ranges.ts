import {
  contains,
  type Ip,
  ipText,
  lastAddress,
  parseIp,
  parsePrefix,
  type Prefix,
  prefixText,
} from '../../core/ip.ts';

export interface AddressRange {
  readonly first: Ip;
  readonly last: Ip;
}

export const rangeText = ({ first, last }: AddressRange): string => `${ipText(first)}-${ipText(last)}`;

export const isWithin = ({ first, last }: AddressRange, ip: Ip): boolean =>
  ip.family === first.family && ip.value >= first.value && ip.value <= last.value;

/** `A-B`, `A,B` or a block `A/N`, several separated by ";". A text says what is wrong. */
export function parseRanges(text: string, network: Prefix): AddressRange[] | string {
  const ranges: AddressRange[] = [];
  for (const piece of text.split(';').map((part) => part.trim())) {
    if (piece === '') continue;
    const range = parseRange(piece);
    if (!range) return `"${piece}" is not a range such as 10.0.0.100-10.0.0.200`;
    if (!contains(network, range.first) || !contains(network, range.last))
      return `${rangeText(range)} is not inside ${prefixText(network)}`;
    if (range.first.value > range.last.value) return `${rangeText(range)} counts backwards`;
    const other = ranges.find(({ first, last }) => first.value <= range.last.value && range.first.value <= last.value);
    if (other) return `${rangeText(range)} overlaps ${rangeText(other)}`;
    ranges.push(range);
  }
  return ranges;
}

function parseRange(piece: string): AddressRange | undefined {
  const block = parsePrefix(piece);
  if (block) return { first: { family: block.family, value: block.value }, last: lastAddress(block) };
  const ends = piece.split(/\s*[-,]\s*|\s+/);
  const [first, last] = ends.map((end) => parseIp(end));
  return first && last && ends.length === 2 ? { first, last } : undefined;
}
