/** How software kits are built: muster reads those that are compatible with one of these. */
export const kitFrameworks = { own: '2', compatible: ['0', '1', '2'] } as const;
