import type { BootMethod } from './scripts.ts';

/** How machines of an architecture usually boot from the network. */
const usualMethods: Readonly<Record<string, readonly BootMethod[]>> = {
  x86_64: ['xnba', 'pxe', 'grub2', 'grub2-http', 'grub2-tftp'],
  aarch64: ['xnba', 'grub2', 'grub2-http', 'grub2-tftp'],
  ppc64: ['grub2', 'grub2-http', 'grub2-tftp'],
  ppc64le: ['petitboot', 'grub2', 'grub2-http', 'grub2-tftp'],
};

/** What is odd about the way in which a node is to boot an image of the architecture. */
export function methodProblem(method: string, arch: string): string | undefined {
  const usual = usualMethods[arch];
  if (!usual || (usual as readonly string[]).includes(method)) return undefined;
  return `The attribute netboot is ${method}, which machines of ${arch} do not boot with; usual are ${usual.join(', ')}.`;
}
