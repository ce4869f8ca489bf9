import { familyOf, hostArchitecture, suiteOf } from '../../src/objects/distributions.ts';
import type { GenJob, Recipe, Wanted } from '../../src/images/build/gen-job.ts';
import type { PackageSource } from '../../src/images/build/package-sources.ts';
import { debianMirror } from './debian-mirror.ts';

/** Packages from one place, in one go. */
export const packagesFrom = (source: PackageSource, ...install: string[]): Wanted => ({
  sources: [source],
  steps: [{ removeBefore: [], install, removeAfter: [], environment: {} }],
});

/** Packages of Debian; the lab has no use for time zones. */
export function debianPackages(...install: string[]): Wanted {
  const { sources, steps } = packagesFrom({ kind: 'url', url: debianMirror(), components: ['main'] }, ...install);
  return { sources, steps: steps.map((step) => ({ ...step, removeBefore: ['tzdata'] })) };
}

/** An image of nothing but packages, for this machine's architecture. */
export function genJob(directory: string, osvers: string, packages: Wanted, change: Partial<Recipe> = {}): GenJob {
  const osarch = hostArchitecture();
  const family = familyOf(osvers);
  return {
    image: 'img',
    osvers,
    osarch,
    profile: 'compute',
    directory,
    by: 'root',
    lists: [],
    permission: 0o755,
    anew: false,
    recipe: {
      family,
      osvers,
      osarch,
      ...(family === 'apt' ? { suite: suiteOf(osvers)! } : {}),
      packages,
      others: { sources: [], steps: [] },
      postinstall: [],
      kernelver: '',
      netdrivers: [],
      drivers: [],
      method: 'netboot',
      ...change,
    },
  };
}
