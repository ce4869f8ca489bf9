import { powerCold } from './power-cold.ts';
import { powerDead } from './power-dead.ts';
import { powerMany } from './power-many.ts';
import { powerRedfish, powerWarm } from './power-warm.ts';
import type { Benchmark } from './report.ts';

/** Service processors, simulated on loopback addresses. */
export const hardware: readonly Benchmark[] = [powerCold, powerWarm, powerDead, powerRedfish, powerMany];
