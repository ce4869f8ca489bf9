import type { RecordType } from '../../protocols/dns/update.ts';

/** A record of a host. Names are in lower case without a dot at their end, addresses in their one spelling. */
export interface DnsRecord {
  readonly name: string;
  readonly type: RecordType;
  readonly data: string;
}

/** Equal for equal records. */
export const recordKey = ({ name, type, data }: DnsRecord): string => `${name} ${type} ${data}`;
