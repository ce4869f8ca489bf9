// What the page of images says beside what the server says of each.

export const texts = {
  gen: 'Installs the packages of its lists and makes kernel and initial RAM disk. Nodes get nothing new before it is packed.',
  pack: 'Makes what nodes fetch. Nodes get it at their next boot; the pack that is in use now is kept for a rollback.',
  rollback: 'Nodes that boot from now on get this pack. Nodes that run keep what they have.',
  tag: 'A pack with a tag is kept, and can be named by it. If another pack has the tag, it moves here.',
  untag: 'Without a tag, muster removes the pack when there are enough newer ones.',
  tagName: 'Tag: a letter, then letters, digits, and . _ -',
  method: 'Format',
  compress: 'Compression',
  usual: 'as usual',
  noSyncFiles: 'Leave the files of the synclist out',
  noPack: 'Nothing is packed, so no node can boot it yet.',
  noTree: 'Nothing is built of this image yet.',
} as const;
