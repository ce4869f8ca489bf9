// Run inside a namespace: ADDRESS TEXT. Serves every path of port 80 as an iPXE script that prints the text, refuses every file of
// TFTP, and prints what it was asked for, a line each.
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { bootScript } from './vm/boot-media.ts';

const [, , address = '', text = ''] = process.argv;

createServer((request, response) => {
  process.stdout.write(`http ${request.url}\n`);
  response.end(bootScript(text));
}).listen(80, address, () => process.stdout.write('ready\n'));

const tftp = createSocket('udp4');
tftp.on('message', (message, { address: peer, port }) => {
  // A read request: opcode 1, the file's name, the mode.
  if (message.readUInt16BE(0) !== 1) return;
  process.stdout.write(`tftp ${message.subarray(2, message.indexOf(0, 2)).toString('latin1')}\n`);
  tftp.send(Buffer.from('\0\x05\0\x01not here\0', 'latin1'), port, peer);
});
tftp.bind(69, address);
