import { posix } from 'node:path';
import { deviceName, tidyPath } from './device-paths.ts';

const quoted = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/g;

/**
 * The files and devices that the name of a backing file leads to, as libvirt shows it: a path, or in the words of QEMU if it is more than
 * that. `disk` is the one that has it.
 */
export function filesBehind(name: string, disk: string): readonly string[] {
  const files = name.startsWith('json:') ? pathsIn(name) : [name.replace(/^(file|host_device):(\/\/(?=\/))?/, '')];
  return files.flatMap((file) => {
    if (/^[a-z][\w+.-]*:/i.test(file)) return [];
    return deviceName(tidyPath(posix.isAbsolute(file) ? file : `${posix.dirname(disk)}/${file}`));
  });
}

/** QEMU takes more than JSON has, such as single quotes. Whatever could be a path counts. */
const pathsIn = (json: string): readonly string[] =>
  [...json.matchAll(quoted)]
    .map(([, one, other]) => (one ?? other!).replaceAll(/\\(.)/g, '$1'))
    .filter((text) => text.startsWith('/'));
