import { createHash } from 'node:crypto';

const shape = /^sha256:[0-9a-f]{64}$/;

/** A digest becomes a file name and a part of URLs: nothing else may pass. */
export const isDigest = (text: string): boolean => shape.test(text);

export const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export const hexOf = (digest: string): string => digest.slice('sha256:'.length);
