// Run inside a namespace: SOCKET HOST PORT. Whoever connects to the UNIX socket is connected to that port.
import { connect, createServer } from 'node:net';

const [, , path = '', host = '', port = ''] = process.argv;

createServer((outside) => {
  const inside = connect(Number(port), host);
  outside.pipe(inside).pipe(outside);
  outside.on('error', () => inside.destroy());
  inside.on('error', () => outside.destroy());
}).listen(path, () => process.stdout.write('ready\n'));
