import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Fault } from './errors.ts';
import { ipText, parsePrefix } from './ip.ts';

/** Addresses of this machine and of its links, where services listen that trust whoever can reach them. */
const inner = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  inner.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  // With addresses of IPv4 in their last part, as in ::127.0.0.1.
  ['::', 96],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  inner.addSubnet(network, bits, 'ipv6');

/** Its own addresses lead to this machine too, in either way of writing them. */
const isOwn = (address: string): boolean => {
  const own = new BlockList();
  for (const interfaces of Object.values(networkInterfaces()))
    for (const { address: each, family } of interfaces ?? []) own.addAddress(each, family === 'IPv6' ? 'ipv6' : 'ipv4');
  return own.check(address, familyOf(address));
};

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

export const isInner = (address: string): boolean => inner.check(address, familyOf(address)) || isOwn(address);

/** Bounds where we connect to: whoever may define a node could otherwise have us go anywhere. Without networks every address is fine. */
export class AddressGuard {
  readonly #networks: BlockList | undefined;
  readonly #text: string;
  readonly #kind: string;

  /** `kind`: what the addresses are of, for sentences. */
  constructor(networks: readonly string[] | undefined, kind = 'BMC') {
    this.#kind = kind;
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
    const ip = isIP(address) === 0 ? await resolve(address, this.#kind) : address;
    this.check(ip, address);
    return ip;
  }

  /** Fails if the IP address is outside; `shown` is what it was found by. */
  check(ip: string, shown = ip): void {
    if (this.#networks?.check(ip, isIP(ip) === 6 ? 'ipv6' : 'ipv4') !== false) return;
    throw new Fault(
      'invalid',
      `the address ${shown} is outside the networks of ${this.#kind}s (${this.#text}) that the configuration allows.`,
    );
  }
}

/** `10.0.0.0/8` or `fd00::/8`; undefined if it is no network. */
export function parseNetwork(text: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | undefined {
  const prefix = parsePrefix(text);
  return prefix && { address: ipText(prefix), bits: prefix.bits, family: prefix.family === 4 ? 'ipv4' : 'ipv6' };
}

async function resolve(name: string, kind: string): Promise<string> {
  try {
    return (await lookup(name)).address;
  } catch (error) {
    throw new Fault('invalid', `the address of its ${kind}, ${name}, has no known IP address.`, {
      cause: error,
    });
  }
}
