// Run within a network namespace: passes connections to a socket file on to a port of that namespace's loopback.
import { connect, createServer } from 'node:net';

const [, , file, port] = process.argv;
createServer((from) => {
  const to = connect(Number(port), '127.0.0.1');
  from.pipe(to).pipe(from);
  for (const socket of [from, to]) {
    socket.on('error', () => {
      from.destroy();
      to.destroy();
    });
  }
}).listen(file);
