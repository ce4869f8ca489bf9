import { powerCold } from './power-cold.ts';
import { powerFirst } from './power-first.ts';
import { powerDead } from './power-dead.ts';
import { powerMany } from './power-many.ts';
import { powerRedfish, powerWarm } from './power-warm.ts';
import { powerWorkers } from './power-workers.ts';
import type { Benchmark } from './report.ts';
import { vitals } from './vitals.ts';
import { vitalsMany } from './vitals-many.ts';

/** BMCs, simulated on loopback addresses. */
export const hardware: readonly Benchmark[] = [
  powerFirst,
  powerCold,
  powerWarm,
  powerDead,
  powerRedfish,
  powerMany,
  powerWorkers,
  vitals,
  vitalsMany,
];
