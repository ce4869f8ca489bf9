/** Bytes of a message, its length word included: what current daemons send at most. */
export const longestMessage = 32 * 1024 * 1024 + 4;
/** Bytes of a string. */
export const longestString = 4 * 1024 * 1024;
/** Machines, and pools and volumes, in one list. */
export const longestList = 16_384;
/** Values that one list tells of one machine. */
export const mostParameters = 4_096;
/** Bytes that the two sides of a migration hand to each other through us. */
export const longestCookie = 4 * 1024 * 1024;
