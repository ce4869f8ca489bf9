export type { Cluster } from './cluster.ts';
export { type Criterion, criterionTest } from './criterion.ts';
export { type ExpandOptions, type Expansion, expand, expandSyntactic } from './expand.ts';
export { fold } from './fold.ts';
export { missedFault } from './missed.ts';
