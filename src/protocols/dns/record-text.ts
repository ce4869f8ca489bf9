import { type Ip, ipText } from '../../core/ip.ts';
import { typeCodes } from './codes.ts';
import type { Message, WireRecord } from './message.ts';
import { readName } from './names.ts';

const typeNames: ReadonlyMap<number, string> = new Map([
  ...Object.entries(typeCodes).map(([name, code]) => [code, name] as const),
  [13, 'HINFO'],
  [15, 'MX'],
  [16, 'TXT'],
  [33, 'SRV'],
  [46, 'RRSIG'],
  [47, 'NSEC'],
]);
const mostTexts = 10;

/** The records of a name in an answer as words for people; data is shown of addresses, aliases and names of addresses. */
export function recordTexts(bytes: Buffer, { answers }: Message, name: string): string[] {
  const own = answers.filter((record) => record.name === name);
  return [...new Set(own.map((record) => recordText(bytes, record)))].slice(0, mostTexts);
}

function recordText(bytes: Buffer, { type, dataAt, dataEnd }: WireRecord): string {
  const name = typeNames.get(type) ?? `TYPE${type}`;
  if (type === typeCodes.CNAME || type === typeCodes.PTR) return `${name} ${readName(bytes, dataAt).name}`;
  const ip = addressIn(bytes.subarray(dataAt, dataEnd), type);
  return ip ? `${name} ${ipText(ip)}` : name;
}

function addressIn(data: Buffer, type: number): Ip | undefined {
  if (type === typeCodes.A && data.length === 4) return { family: 4, value: BigInt(data.readUInt32BE(0)) };
  if (type !== typeCodes.AAAA || data.length !== 16) return undefined;
  return { family: 6, value: (data.readBigUInt64BE(0) << 64n) | data.readBigUInt64BE(8) };
}
