// What the page of servers and workers says.
import { common, plural } from './common.ts';

export const texts = {
  title: 'Servers',
  about: 'the servers of this database, and the workers on service nodes',
  all: 'Servers and workers',
  list: 'List of servers',
  columns: ['Name', 'Version', 'Since', 'Load'],
  heard: 'heard of',
  idle: 'nothing under way',
  busy: (jobs: number, nodes: number) => `${plural(jobs, 'job')} on ${common.nodes(nodes)}`,
  worksFor: (nodes: number) => `works for ${common.nodes(nodes)}`,
  serves: (what: string) => `serves ${what}`,
  boots: (nodes: number) => `${plural(nodes, 'node boots', 'nodes boot')} from it`,
  noWorkers: 'There are no workers: the servers do all work themselves.',
  howToWorkers: 'The chapter Service nodes shows how a worker takes a part of it.',
  doctor: 'What this server finds',
  well: 'All is well.',
  verdicts: { well: 'well', wrong: 'wrong' },
  lookAgain: 'Look again',
} as const;
