import { lookup } from 'node:dns/promises';
import { isIP, SocketAddress } from 'node:net';
import { checkHostAddress } from '../../core/host-address.ts';
import { unresolved } from './faults.ts';

export interface NetworkAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

const keptFor = 60_000;
const mostKept = 100_000;

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** An address in the form in which the system shows the sender of a packet; undefined for a name. */
export function literalAddress(text: string): NetworkAddress | undefined {
  const family = isIP(text);
  if (family === 4) return { address: text, family: 4 };
  if (family !== 6) return undefined;
  const [address = '', zone] = text.split('%');
  const plain = new SocketAddress({ address, family: 'ipv6' }).address;
  const [, v4] = mapped.exec(plain) ?? [];
  if (v4 !== undefined) return { address: v4, family: 4 };
  return { address: zone === undefined ? plain : `${plain}%${zone}`, family: 6 };
}

/** Finds addresses of names and remembers them for a minute. */
export class Resolver {
  readonly #cache = new Map<string, { until: number; address: Promise<NetworkAddress> }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  async resolve(text: string): Promise<NetworkAddress> {
    const literal = literalAddress(text);
    if (literal !== undefined) return literal;
    const mistyped = checkHostAddress(text);
    if (mistyped) throw mistyped;
    const cached = this.#cache.get(text);
    if (cached !== undefined && this.#now() < cached.until) return await cached.address;
    if (this.#cache.size >= mostKept) this.#cache.clear();
    const address = find(text);
    this.#cache.set(text, { until: this.#now() + keptFor, address });
    try {
      return await address;
    } catch (error) {
      this.#cache.delete(text);
      throw error;
    }
  }
}

async function find(name: string): Promise<NetworkAddress> {
  try {
    const { address, family } = await lookup(name);
    return { address, family: family === 6 ? 6 : 4 };
  } catch (cause) {
    throw unresolved(name, cause as NodeJS.ErrnoException);
  }
}
