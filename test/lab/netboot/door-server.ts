// Run inside a namespace: SOCKET PORT. Whoever connects to the UNIX socket is connected to that port of the loopback address there.
import { connect, createServer } from 'node:net';

const [, , path = '', port = ''] = process.argv;

createServer((outside) => {
  const inside = connect(Number(port), '127.0.0.1');
  outside.pipe(inside).pipe(outside);
  outside.on('error', () => inside.destroy());
  inside.on('error', () => outside.destroy());
}).listen(path, () => process.stdout.write('ready\n'));
