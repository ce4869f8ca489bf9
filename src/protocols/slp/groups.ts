export const slpPort = 427;
export const group4 = '239.255.255.253';

/** What directory agents are asked for by. */
export const directoryType = 'service:directory-agent';

/** RFC 3111 4.1: the group of directory agents; else the one of all agents, and the one of those with services of the type. */
export const groups6 = (type: string): string[] =>
  type === directoryType ? ['ff02::123'] : ['ff02::116', `ff02::1:${(0x1000 + typeHash(type)).toString(16)}`];

export function typeHash(type: string): number {
  let hash = 0;
  for (const byte of Buffer.from(type)) hash = (hash * 33 + byte) & 0x3ff;
  return hash;
}
