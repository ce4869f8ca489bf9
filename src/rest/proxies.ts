import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { canonicalAddress } from '../access/addresses.ts';
import { parseNetwork } from '../core/address-guard.ts';

/** The addresses in any of the networks. */
export function membership(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const { address, bits, family } = parseNetwork(network)!;
    list.addSubnet(address, bits, family);
  }
  return (given) => {
    const address = canonicalAddress(given);
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
}

const inLoopback = membership(['127.0.0.0/8', '::1/128']);

export const isLoopback = (host: string): boolean => host === 'localhost' || inLoopback(host);

/** Tells the address of a request's client: what the last proxy says that is none itself. */
export function clientBehind(proxies: readonly string[]): (request: IncomingMessage) => string {
  const isProxy = membership(proxies);
  const peer = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? '';
  if (proxies.length === 0) return peer;
  return (request) => {
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
    let client = peer(request);
    for (const each of forwarded.reverse()) {
      if (!isProxy(client)) break;
      client = each.trim() || client;
    }
    return client;
  };
}
