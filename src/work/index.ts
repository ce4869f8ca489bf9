export { LongWork } from './long-work.ts';
export type { Batch, ProgramOptions, ProgramResult, StagingOptions, Work } from './messages.ts';
export type { RunRecord } from './records.ts';
export { LongRun, longWorkSettings } from './long-run.ts';
