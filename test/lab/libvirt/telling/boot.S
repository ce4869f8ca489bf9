# The boot sector: loads what follows it, asks how much memory there is, and goes on in 32 bits with interrupts of the timer alone.
  .code16
  .globl boot
boot:
  cli
  xorw %ax, %ax
  movw %ax, %ds
  movw %ax, %es
  movw %ax, %ss
  movw $0x7c00, %sp
  movb %dl, drive
  movb $0x42, %ah
  movw $packet, %si
  int $0x13
  jc boot
  # The map of memory is told piece by piece; the end of the last usable one below 4 GiB counts.
  xorl %ebx, %ebx
next:
  movl $0xe820, %eax
  movl $20, %ecx
  movl $0x534d4150, %edx
  movw $piece, %di
  int $0x15
  jc told
  cmpl $1, piece + 16
  jne more
  cmpl $0, piece + 4
  jne more
  movl piece, %eax
  addl piece + 8, %eax
  movl %eax, top
more:
  testl %ebx, %ebx
  jnz next
told:
  # Only the timer: what QEMU's firmware would do in 16 bits has no meaning after this.
  movb $0x11, %al
  outb %al, $0x20
  outb %al, $0xa0
  movb $0x20, %al
  outb %al, $0x21
  movb $0x28, %al
  outb %al, $0xa1
  movb $4, %al
  outb %al, $0x21
  movb $2, %al
  outb %al, $0xa1
  movb $1, %al
  outb %al, $0x21
  outb %al, $0xa1
  movb $0xfe, %al
  outb %al, $0x21
  movb $0xff, %al
  outb %al, $0xa1
  lgdt table
  movl %cr0, %eax
  orb $1, %al
  movl %eax, %cr0
  ljmp $8, $protected
  .code32
protected:
  movw $16, %ax
  movw %ax, %ds
  movw %ax, %es
  movw %ax, %ss
  movl $0x7c00, %esp
  movl $__bss_start, %edi
  movl $_end, %ecx
  subl %edi, %ecx
  xorl %eax, %eax
  cld
  rep stosb
  # Interrupt 0x20 is the timer's.
  movl $ticked, %eax
  movw %ax, vectors + 0x20 * 8
  movw $8, vectors + 0x20 * 8 + 2
  movw $0x8e00, vectors + 0x20 * 8 + 4
  shrl $16, %eax
  movw %ax, vectors + 0x20 * 8 + 6
  lidt interrupts
  movl top, %eax
  # The firmware keeps a little at the end.
  addl $0xfffff, %eax
  shrl $20, %eax
  pushl %eax
  call start
ticked:
  pushl %eax
  movb $0x20, %al
  outb %al, $0x20
  popl %eax
  iret
  .align 8
segments:
  .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
table:
  .word 23
  .long segments
interrupts:
  .word 0x21 * 8 - 1
  .long vectors
packet:
  .byte 16, 0
  .word 31, 0, 0x7e0
  .quad 1
drive:
  .byte 0
top:
  .long 0
piece:
  .skip 20
  .org 510
  .word 0xaa55
  .lcomm vectors, 0x21 * 8
