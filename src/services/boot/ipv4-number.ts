/** An address as eight hexadecimal digits, as boot loaders ask for it; undefined: it is no IPv4 address. */
export function ipv4Number(address: string): string | undefined {
  const parts = address.split('.').map(Number);
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255)) return undefined;
  return parts.map((part) => part.toString(16).padStart(2, '0').toUpperCase()).join('');
}
