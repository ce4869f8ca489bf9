import { Fault } from '../../../core/errors.ts';
import { listFileFor } from '../../images/media/list-files.ts';
import type { NodeImage } from '../../update/node-image.ts';

/** The template that an image names, else the administrator's for its profile, else the one that comes with muster. */
export function templateOf(installdir: string, image: NodeImage): string {
  const named = image.attribute('template');
  if (named !== '') return named;
  const found = listFileFor(installdir, image, 'install', 'tmpl');
  if (found !== undefined) return found;
  const { os, profile } = image;
  throw new Fault(
    'invalid',
    `${image.name}: there is no template for the profile ${JSON.stringify(profile)} of ${os}; set its attribute template, or put ${profile}.tmpl into ${installdir}/custom/install.`,
  );
}
