import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A program that firmware loads and that loads the rest. */
interface Loader {
  /** As firmware asks for it, and as a site names its own. */
  readonly name: string;
  /** Where Debian's packages have it. */
  readonly places: readonly string[];
  /** What to install where none of them is there. */
  readonly remedy: string;
  readonly for: string;
  /** Missed only where a machine asks for it. */
  readonly isRare?: true;
}

/** The netboot installer has them too, and is there for machines of every architecture. */
const ofInstaller = (arch: string, file: string): string =>
  `/usr/lib/debian-installer/images/12/${arch}/text/debian-installer/${arch}/${file}`;
const armShim = ['/usr/lib/shim/shimaa64.efi.signed', ofInstaller('arm64', 'bootnetaa64.efi')];
const fromSource = 'build it from the source of iPXE, and put it into the directory of boot.directory';
const ofYourOwn =
  'no package has one; put a loader for these machines under this name into the directory of boot.directory';

/** Those that DHCP sends machines to (dhcp/boot-classes.ts), and what these ask for in turn. */
const loaders: readonly Loader[] = [
  {
    name: 'undionly.kpxe',
    places: ['/usr/lib/ipxe/undionly.kpxe'],
    remedy: 'apt install ipxe',
    for: 'machines with BIOS',
  },
  {
    name: 'ipxe.efi',
    places: ['/usr/lib/ipxe/ipxe.efi', '/usr/lib/ipxe/ipxe-amd64.efi'],
    remedy: 'apt install ipxe',
    for: 'x86_64 machines with UEFI',
  },
  {
    name: 'ipxe-arm64.efi',
    // Debian 12 has none. The shim does as well: it loads GRUB from beside its own name, whatever that is.
    places: ['/usr/lib/ipxe/ipxe-arm64.efi', ...armShim],
    remedy: 'ipxe of Debian 13 or newer has it; put its ipxe-arm64.efi into the directory of boot.directory',
    for: 'arm64 machines with UEFI',
  },
  {
    name: 'shimx64.efi',
    places: ['/usr/lib/shim/shimx64.efi.signed', ofInstaller('amd64', 'bootnetx64.efi')],
    remedy: 'apt install shim-signed',
    for: 'x86_64 machines with Secure Boot',
  },
  {
    name: 'grubx64.efi',
    places: ['/usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed', ofInstaller('amd64', 'grubx64.efi')],
    remedy: 'apt install grub-efi-amd64-signed',
    for: 'x86_64 machines with Secure Boot',
  },
  {
    name: 'gcdx64.efi',
    places: ['/usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed'],
    remedy: 'apt install grub-efi-amd64-signed',
    for: 'x86_64 machines that boot by virtual media',
    isRare: true,
  },
  {
    name: 'gcdaa64.efi',
    places: ['/usr/lib/grub/arm64-efi-signed/gcdaa64.efi.signed'],
    remedy:
      'grub-efi-arm64-signed has it; put its gcdaa64.efi.signed under this name into the directory of boot.directory',
    for: 'arm64 machines that boot by virtual media',
    isRare: true,
  },
  {
    name: 'shimaa64.efi',
    places: armShim,
    remedy: 'apt install debian-installer-12-netboot-arm64',
    for: 'arm64 machines with Secure Boot',
  },
  {
    name: 'grubaa64.efi',
    places: ['/usr/lib/grub/arm64-efi-signed/grubnetaa64.efi.signed', ofInstaller('arm64', 'grubaa64.efi')],
    remedy: 'apt install debian-installer-12-netboot-arm64',
    for: 'arm64 machines with Secure Boot',
  },
  ...(
    [
      ['ia32', 'machines with a UEFI of 32 bits', fromSource],
      ['riscv32', 'RISC-V machines of 32 bits', fromSource],
      ['riscv64', 'RISC-V machines of 64 bits', fromSource],
      ['riscv128', 'RISC-V machines of 128 bits', ofYourOwn],
      ['loong32', 'LoongArch machines of 32 bits', ofYourOwn],
      ['loong64', 'LoongArch machines of 64 bits', fromSource],
    ] as const
  ).map(
    ([arch, whom, remedy]): Loader => ({
      name: `ipxe-${arch}.efi`,
      places: [],
      remedy,
      for: whom,
      isRare: true,
    }),
  ),
];

/** Other names of them: those of the reference system. */
const otherNames: Readonly<Record<string, string>> = {
  'grub2.x86_64': 'grubx64.efi',
  'grub2.aarch64': 'grubaa64.efi',
  'xcat/xnba.kpxe': 'undionly.kpxe',
  'xcat/xnba.efi': 'ipxe.efi',
};

const remedyFor = ({ name, for: whom, remedy }: Loader): string => `${name}, for ${whom}: ${remedy}.`;

/** Boot loaders by the names that machines ask for. */
export class Loaders {
  readonly #directory: string | undefined;

  /** The site's own, which win. */
  constructor(directory: string | undefined) {
    this.#directory = directory;
  }

  /** Where it lies; undefined: it is not here, or no loader. */
  find(name: string): string | undefined {
    const wanted = Object.hasOwn(otherNames, name) ? otherNames[name] : name;
    const loader = loaders.find((each) => each.name === wanted);
    return loader && this.#place(loader);
  }

  /** Sentences about those that are missing. */
  missing(): string[] {
    return loaders.filter((loader) => !loader.isRare && this.#place(loader) === undefined).map(remedyFor);
  }

  /** What to do for one that is asked for and missing; undefined: it is none, or here. */
  remedy(name: string): string | undefined {
    const loader = loaders.find((each) => each.name === name);
    return loader && this.#place(loader) === undefined ? remedyFor(loader) : undefined;
  }

  names(): string[] {
    return loaders.filter((loader) => this.#place(loader) !== undefined).map(({ name }) => name);
  }

  #place({ name, places }: Loader): string | undefined {
    const own = this.#directory === undefined ? [] : [join(this.#directory, name)];
    return [...own, ...places].find((path) => existsSync(path));
  }
}
