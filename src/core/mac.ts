/** Lower case with colons; undefined if the text is no MAC address (8 or 20 bytes are InfiniBand). */
export function normalMac(text: string): string | undefined {
  const lower = text.toLowerCase();
  if (/^[0-9a-f]{12}$/.test(lower)) return lower.match(/../g)!.join(':');
  const dashes = lower.replaceAll('-', ':');
  return /^[0-9a-f]{2}(:[0-9a-f]{2}){5,19}$/.test(dashes) ? dashes : undefined;
}

/** Not zeros, broadcast or a group. Of InfiniBand, 8 bytes have no bit for groups, and 20 bytes end with an IPv6 address. */
export function isOneMachine(mac: string): boolean {
  if (/^(00(:00)*|ff(:ff)*)$/.test(mac)) return false;
  if (mac.length === bytes(6)) return !/^.[13579bdf]/.test(mac);
  return mac.length !== bytes(20) || !mac.startsWith('ff', bytes(4) + 1);
}

const bytes = (count: number): number => count * 3 - 1;
