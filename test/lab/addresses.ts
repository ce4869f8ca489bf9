/** The address of the simulated BMC `index`: 250 in each /24 below a /16 such as `127.10`. */
export const labAddress = (prefix: string, index: number): string =>
  `${prefix}.${Math.floor(index / 250)}.${1 + (index % 250)}`;

export const labAddresses = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => labAddress(prefix, index));

/** The accounts of every simulated BMC, by what they may do. */
export const labAccounts = {
  administrator: { username: 'admin', password: 'secret' },
  operator: { username: 'oper', password: 'operpw' },
  user: { username: 'viewer', password: 'viewpw' },
} as const;

/** An account whose name and password are as long as IPMI 2.0 has them; ipmi_sim would cut the password. Only of light BMCs. */
export const longestAccount = { username: 'sixteen-byte-usr', password: 'twenty-byte-password' } as const;
