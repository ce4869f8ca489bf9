import { Fault } from '../../../core/errors.ts';
import { listFile } from '../../images/media/list-files.ts';
import type { NodeImage } from '../../update/node-image.ts';
import { familyOf } from '../../images/build/families.ts';

/** The template that an image names, else the administrator's for its profile, else the one that comes with muster. */
export function templateOf(installdir: string, image: NodeImage): string {
  const named = image.attribute('template');
  if (named !== '') return named;
  const { os, arch, profile } = image;
  const plain = [os, arch, profile].every((part) => /^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(part));
  const found = plain
    ? listFile({ installdir, family: distributionOf(os), os, arch, profile }, 'install', 'tmpl')
    : undefined;
  if (found !== undefined) return found;
  throw new Fault(
    'invalid',
    `${image.name}: there is no template for the profile ${JSON.stringify(profile)} of ${os}; set its attribute template, or put ${profile}.tmpl into ${installdir}/custom/install.`,
  );
}

function distributionOf(os: string): 'debian' | 'ubuntu' | 'redhat' | 'suse' {
  const family = familyOf(os);
  if (family === 'dnf') return 'redhat';
  if (family === 'zypper') return 'suse';
  return os.startsWith('ubuntu') ? 'ubuntu' : 'debian';
}
