export const slpPort = 427;
export const group4 = '239.255.255.253';

/** RFC 3111 4.1: the groups agents listen in, and the one that those with services of the type do. */
export const groups6 = (type: string): string[] => ['ff02::116', `ff02::1:${(0x1000 + typeHash(type)).toString(16)}`];

export function typeHash(type: string): number {
  let hash = 0;
  for (const byte of Buffer.from(type)) hash = (hash * 33 + byte) & 0x3ff;
  return hash;
}
