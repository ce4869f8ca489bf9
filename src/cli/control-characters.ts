/** Those that move a cursor, begin an escape sequence or turn the direction of a text. */
const drawing = /[\0-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g;

const written = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text for a terminal: lines and tabs stay, everything else that a terminal would obey is written out. */
export const harmless = (text: string): string => text.replaceAll(drawing, written);

/** A value within a line: it can neither draw nor look like a line of its own. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, written);
