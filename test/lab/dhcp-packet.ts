import { parseIp } from '../../src/core/ip.ts';

/** Where a DHCPv4 packet has addresses: of the client that has one already, and of a relay. */
const places = { client: 12, relay: 24 } as const;

/** Message types that clients send. */
export const messageTypes = { discover: 1, request: 3 } as const;

export const addressBytes = (address: string): Buffer => {
  const { family, value } = parseIp(address)!;
  return Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex');
};

export function packet4(
  type: keyof typeof messageTypes,
  hardware: Buffer,
  addresses: Partial<Record<keyof typeof places, string>>,
): Buffer {
  const packet = Buffer.alloc(240);
  packet.set([1, 1, hardware.length, addresses.relay === undefined ? 0 : 1, 1, 2, 3, 4]);
  for (const [whose, place] of Object.entries(places)) {
    const address = addresses[whose as keyof typeof places];
    if (address !== undefined) packet.set(addressBytes(address), place);
  }
  packet.set(hardware, 28);
  packet.set([0x63, 0x82, 0x53, 0x63], 236);
  return Buffer.concat([packet, Buffer.from([53, 1, messageTypes[type], 255])]);
}

/** The address that a reply gives. */
export const givenAddress = (reply: Buffer): string => [...reply.subarray(16, 20)].join('.');
