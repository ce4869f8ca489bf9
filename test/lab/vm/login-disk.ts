/**
 * A disk of 1 MiB whose boot sector asks for a login on the serial port, prints what is typed, and asks again after each line. In between
 * the processor sleeps until its clock ticks.
 */
export function loginDisk(name: string): Buffer {
  const code = Buffer.from(
    [
      'fb31c08ed8fc', //     sti; ds = 0; cld
      'be347c', //     ask:  si = the text behind the code
      'ac84c07411', // next: al = [si++]; to look at the end of the text
      '88c4bafd03', //       ah = al; dx = the state of the port
      'eca82074fb', // full: until it takes a character
      '88e0b2f8ee', //       out al
      'ebea', //             to next
      'bafd03eca801', // look: is there a character?
      '7503f4ebf5', //       if not, hlt, and look again
      'b2f8ecee', //         in al, out al
      '3c0d74d4', //         to ask at the end of a line
      'ebeb', //             to look
    ].join(''),
    'hex',
  );
  const disk = Buffer.alloc(1024 * 1024);
  disk.set(code);
  disk.write(`\r\n${name} login: \0`, code.length, 'latin1');
  disk.set([0x55, 0xaa], 510);
  return disk;
}
