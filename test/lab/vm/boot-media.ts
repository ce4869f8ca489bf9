/** A disk of 1 MiB whose boot sector prints the text by the firmware (int 10h) and halts. */
export function bootDisk(text: string): Buffer {
  const code = Buffer.from(
    [
      'fb31c08ed8', // sti, for the firmware shows text with its timer; ds = 0
      'be187cfc', //   si = the text behind the code
      'ac84c07407', // next: al = [si++]; to halt at the end of the text
      'b40ecd10ebf590', // print al; to next
      'f4ebfd', //     halt
    ].join(''),
    'hex',
  );
  const disk = Buffer.alloc(1024 * 1024);
  disk.set(code);
  disk.write(`\r\n${text}\r\n\0`, code.length, 'latin1');
  disk.set([0x55, 0xaa], 510);
  return disk;
}

/** What a machine that boots from the network runs: prints the text and waits. */
export const bootScript = (text: string): string => `#!ipxe\necho\necho ${text}\necho\nsleep 600\n`;
