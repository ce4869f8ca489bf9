/** The tags that a header such as If-Match lists. */
export const tagsIn = (header: string): string[] => header.split(',').map((tag) => tag.trim());

/** Whether If-None-Match has the tag. */
export const matchesTag = (header: string | undefined, tag: string): boolean =>
  header !== undefined && tagsIn(header).some((given) => given === '*' || given.replace(/^W\//, '') === tag);
