import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { Fault } from './errors.ts';

/**
 * Bounds where accounts of service processors may be sent: whoever may define a node could otherwise have them sent anywhere.
 * Without networks every address is fine.
 */
export class AddressGuard {
  readonly #networks: BlockList | undefined;
  readonly #text: string;

  constructor(networks: readonly string[] | undefined) {
    this.#text = networks?.join(', ') ?? '';
    if (!networks) return;
    this.#networks = new BlockList();
    for (const network of networks) {
      const { address, bits, family } = parseNetwork(network)!;
      this.#networks.addSubnet(address, bits, family);
    }
  }

  /** The address to use: a name is resolved here if its address has to be judged. */
  async admit(address: string): Promise<string> {
    if (!this.#networks) return address;
    const found = isIP(address) ? { address, family: isIP(address) } : await resolve(address);
    if (this.#networks.check(found.address, found.family === 6 ? 'ipv6' : 'ipv4')) return found.address;
    throw new Fault(
      'invalid',
      `the address ${address} is outside the networks of service processors (${this.#text}) that the configuration allows.`,
    );
  }
}

/** `10.0.0.0/8` or `fd00::/8`; undefined if it is no network. */
export function parseNetwork(text: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | undefined {
  const match = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(text);
  const version = isIP(match?.[1] ?? '');
  const bits = Number(match?.[2]);
  if (!match || version === 0 || bits > (version === 4 ? 32 : 128)) return undefined;
  return { address: match[1]!, bits, family: version === 4 ? 'ipv4' : 'ipv6' };
}

async function resolve(name: string): Promise<{ address: string; family: number }> {
  try {
    return await lookup(name);
  } catch (error) {
    throw new Fault('invalid', `the address of its service processor, ${name}, has no known IP address.`, {
      cause: error,
    });
  }
}
