/** What servers that the file of tests has started have written, for whoever looks at a failure. */
const sources: (() => string)[] = [];

export const keepOutput = (text: () => string): void => void sources.push(text);

/** The end of what each of the last ones wrote. */
export const outputs = (): readonly string[] => sources.slice(-6).map((text) => text().slice(-4_000));
