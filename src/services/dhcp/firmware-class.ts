import type { Prefix } from '../../core/ip.ts';

export const firmwareClassName = 'firmware';
const longestLease = 3_600;

/**
 * Firmware and boot loaders in IPv4, by the architecture they name. They need their address for a short while only, and by its time
 * muster knows a boot from what a running system asks. Users of such a system can send what they like to a DHCP server, but not from
 * the address 0.0.0.0, which firmware has. Behind a relay the two cannot be told apart, so a relay is believed for its own network only.
 */
export function firmwareClass(relayed: readonly Prefix[], leaseTime: number) {
  const sources = ['pkt.src == 0.0.0.0', ...(relayed.length > 0 ? [`(${relayTest(relayed)})`] : [])];
  return {
    name: firmwareClassName,
    test: `option[93].exists and (${sources.join(' or ')})`,
    'valid-lifetime': leaseTime > longestLease ? longestLease : leaseTime + 1,
  };
}

/** By options 118 and 82.5 a packet names another network than that of its relay. */
const relayTest = (networks: readonly Prefix[]): string =>
  `not option[118].exists and not relay4[5].exists and (${networks.map(relayIsWithin).join(' or ')})`;

/** Kea compares whole bytes only: those that the network shares, and each value that the byte behind them can have. */
export function relayIsWithin({ value, bits }: Prefix): string {
  if (bits === 0) return 'not (pkt4.giaddr == 0.0.0.0)';
  const whole = Math.floor(bits / 8);
  const bytes = value.toString(16).padStart(8, '0');
  const shared = whole > 0 ? [`substring(pkt4.giaddr,0,${whole}) == 0x${bytes.slice(0, whole * 2)}`] : [];
  if (bits % 8 === 0) return shared.join('');
  const first = Number.parseInt(bytes.slice(whole * 2, whole * 2 + 2), 16);
  const next = Array.from({ length: 2 ** (8 - (bits % 8)) }, (_, i) => (first + i).toString(16).padStart(2, '0'));
  const choice = next.map((byte) => `substring(pkt4.giaddr,${whole},1) == 0x${byte}`).join(' or ');
  return [...shared, `(${choice})`].join(' and ');
}
