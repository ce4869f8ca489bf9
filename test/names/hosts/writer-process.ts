import { HostsWriter } from '../../../src/names/hosts/hosts-writer.ts';

/** Adds lines `10.9.0.1 NAME-0`, `10.9.0.1 NAME-1` ... one by one, each padded with a comment, and tells of each. */
const [path = '', name = '', count = '', padding = '0'] = process.argv.slice(2);
const writer = new HostsWriter(path);
for (let i = 0; i < Number(count); i++) {
  await writer.update((lines) => {
    const before = lines.map(({ text }) => text).join('');
    return `${before.replace(/#+ end\n$/, '')}10.9.0.1 ${name}-${i}\n${'#'.repeat(Number(padding))} end\n`;
  });
  process.stdout.write(`${i}\n`);
}
