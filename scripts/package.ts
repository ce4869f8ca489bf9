// npm run package: makes packages of this checkout for the package manager of a distribution, and an image for containers.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { BuildOptions } from './package/build.ts';
import { checkout } from './package/contents.ts';
import { debianPackages } from './package/debian.ts';
import { ociImage } from './package/image.ts';
import { type Architecture, architectures, ownArchitecture } from './package/native.ts';
import { rpmPackages } from './package/rpm.ts';
import { packageVersion } from './package/version.ts';

const usage = `Usage: npm run package -- [--kind deb|rpm|image] [--architecture amd64|arm64|all] [--output DIR] [--fast]

Writes packages into DIR (default: packages). --kind may be given several times:

  deb     for Debian and Ubuntu: muster, and muster-xcat-commands with links by the names of xCAT's commands (the default)
  rpm     the same for RHEL, Rocky Linux, Fedora and SUSE; needs the Debian package rpm
  image   an OCI image for podman and docker; needs root and the Debian package mmdebstrap, which fetches Debian's packages for it

--fast makes larger files in less time.`;

type Build = (architecture: Architecture, options: BuildOptions) => readonly string[];
const kinds: Readonly<Record<string, Build>> = {
  deb: debianPackages,
  rpm: rpmPackages,
  image: (architecture, options) => [ociImage(architecture, options)],
};

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        kind: { type: 'string', multiple: true, default: ['deb'] },
        architecture: { type: 'string', default: ownArchitecture },
        output: { type: 'string', default: join(checkout, 'packages') },
        fast: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const wanted =
      values.architecture === 'all' ? architectures : architectures.filter((each) => each === values.architecture);
    if (wanted.length === 0) throw new Error(`There is no package for the architecture "${values.architecture}".`);
    const builds = values.kind.map((kind) => {
      const build = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (!build) throw new Error(`There is no kind of package "${kind}"; there are ${Object.keys(kinds).join(', ')}.`);
      return build;
    });
    return { ...values, wanted, builds };
  } catch (error) {
    console.error(`package: ${(error as Error).message}\n\n${usage}`);
    process.exit(1);
  }
}

const { wanted, builds, output, fast, help } = readOptions();
if (help) console.log(usage);
else {
  const options = { version: packageVersion(checkout), directory: output, fast };
  try {
    const made = builds.flatMap((build) => wanted.flatMap((architecture) => build(architecture, options)));
    for (const file of new Set(made)) console.log(file);
  } catch (error) {
    console.error(`package: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
