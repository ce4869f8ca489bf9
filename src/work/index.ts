export { LongWork } from './long-work.ts';
export type { Batch, ProgramOptions, ProgramResult, StagingOptions, Work } from './messages.ts';
export { LongRun, longWorkSettings } from './long-run.ts';
export type { Claim, HeldSubject, OtherClaim, SubjectClaims } from './subject-claims.ts';
