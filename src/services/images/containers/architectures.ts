import { Fault } from '../../../core/errors.ts';

/** What machines are called by the kernel and by container images. */
const architectures: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  ppc64le: 'ppc64le',
  s390x: 's390x',
  riscv64: 'riscv64',
};

/** Of the machine this runs on. */
export const ownArchitecture = (): string =>
  ({ x64: 'x86_64', arm64: 'aarch64', ppc64: 'ppc64le' })[process.arch as string] ?? process.arch;

export function containerArchitecture(osarch: string): string {
  const found = Object.hasOwn(architectures, osarch) ? architectures[osarch] : undefined;
  if (found !== undefined) return found;
  throw new Fault(
    'invalid',
    `The architecture ${JSON.stringify(osarch)} is none of ${Object.keys(architectures).join(', ')}.`,
  );
}
