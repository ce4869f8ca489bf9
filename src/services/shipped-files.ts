import { join } from 'node:path';
import { home } from '../core/home.ts';

/** Files for images that come with muster: lists of packages and of files, a directory for each family of distributions. */
export const shippedImageFiles = join(home, 'share/images');

/** Scripts of the initial RAM disk. */
export const ramdiskFiles = join(home, 'share/ramdisk');
