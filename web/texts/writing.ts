// Of everything that shows what it would write before it writes.
export const writing = {
  show: 'Show what changes',
  write: 'Write',
  remove: 'Remove',
  cancel: 'Cancel',
  nothing: 'This changes nothing.',
  written: (change: number) => `Change ${change} is written.`,
  details: 'Show',
  hide: 'Hide',
  undo: 'Undo',
  dismiss: 'Dismiss',
};
