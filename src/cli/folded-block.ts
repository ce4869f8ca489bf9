const rule = '='.repeat(36);

/** A text below the names of those who have it. */
export const foldedBlock = (names: string, text: string): string => `${rule}\n${names}\n${rule}\n${text}\n\n`;

/** How many they are, before the text. */
export const countLines = (count: number): string => `Node count = ${count} \n${rule}\n`;
