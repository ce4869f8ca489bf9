import type { CommandEntry } from '../invocation.ts';

/** Images, booting from the network and virtual machines. */
export const booting: Readonly<Record<string, CommandEntry>> = {
  chvm: { summary: 'Change virtual machines', load: () => import('./chvm.ts') },
  clonevm: { summary: 'Masters and copies of virtual machines', load: () => import('./clonevm.ts') },
  copycds: { summary: 'Copy install media', load: () => import('./copycds.ts') },
  genimage: { summary: 'Build an image', load: () => import('./genimage.ts') },
  imgexport: { summary: 'Write an image into a file', load: () => import('./imgexport.ts') },
  imgimport: { summary: 'Make an image from a file', load: () => import('./imgimport.ts') },
  liteimg: { summary: 'Pack a statelite image', load: () => import('./liteimg.ts') },
  lsimage: { summary: 'What is built of images', load: () => import('./lsimage.ts') },
  lsvm: { summary: 'List virtual machines', load: () => import('./lsvm.ts') },
  mkvm: { summary: 'Make virtual machines', load: () => import('./mkvm.ts') },
  nodediscoverdef: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  nodediscoverls: { summary: 'Machines that are no node', load: () => import('./nodediscoverls.ts') },
  nodediscoverstart: { summary: 'Let new machines become nodes', load: () => import('./nodediscoverstart.ts') },
  nodediscoverstatus: { summary: 'Whether new machines become nodes', load: () => import('./nodediscoverstatus.ts') },
  nodediscoverstop: { summary: 'End that', load: () => import('./nodediscoverstop.ts') },
  nodeset: { summary: 'What nodes boot from the network', load: () => import('./nodeset.ts') },
  packimage: { summary: 'Pack an image', load: () => import('./packimage.ts') },
  rinstall: { summary: 'Boot nodes with an image', load: () => import('./rinstall.ts') },
  rmigrate: { summary: 'Move virtual machines', load: () => import('./rmigrate.ts') },
  rmimage: { summary: 'Remove what is built of an image', load: () => import('./rmimage.ts') },
  rmvm: { summary: 'Remove virtual machines', load: () => import('./rmvm.ts') },
  rnetboot: { summary: 'Boot nodes from the network', load: () => import('./rnetboot.ts') },
  winstall: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
};
