import { copycds } from './copycds.ts';
import type { Benchmark } from './report.ts';

/** Operating system images, against the programs that do the bare work. */
export const images: Benchmark = {
  name: 'images',
  async *rows() {
    yield* copycds();
  },
};
