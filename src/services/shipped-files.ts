import { join } from 'node:path';

/** Files for images that come with muster: lists of packages and of files, a directory for each family of distributions. */
export const shippedImageFiles = join(import.meta.dirname, '../../share/images');

/** Scripts of the initial RAM disk. */
export const ramdiskFiles = join(import.meta.dirname, '../../share/ramdisk');
