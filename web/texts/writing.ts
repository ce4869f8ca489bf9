// Of everything that shows what it would write before it writes.
export const writing = {
  show: 'Show what changes',
  write: 'Write',
  nothing: 'This changes nothing.',
  written: (change: number) => `Change ${change} is written.`,
  dismiss: 'Dismiss',
};
