// What the page of servers and workers says.

export const texts = {
  about: 'the servers of this database, and the workers on service nodes',
  noWorkers: 'There are no workers: the servers do all work themselves.',
  howToWorkers: 'The chapter Service nodes shows how a worker takes a part of it.',
  doctor: 'What this server finds',
  well: 'All is well.',
  lookAgain: 'Look again',
} as const;
