/*
 * A guest without an operating system for machines of type `pc`. It lets go of disks when it is asked to, gives back memory by the balloon,
 * and tells on the serial console what it has whenever that changes:
 *   STATE mem=64M cpus=1 disks=00000000:16M,4d41524b:8M
 * A disk is told by the first four bytes on it and its size. A line that comes in on the console is written to the last disk; after an
 * empty one it tells again what it has.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

static void outb(u16 port, u8 value) { __asm__ volatile("outb %0,%1" ::"a"(value), "Nd"(port)); }
static void outw(u16 port, u16 value) { __asm__ volatile("outw %0,%1" ::"a"(value), "Nd"(port)); }
static void outl(u16 port, u32 value) { __asm__ volatile("outl %0,%1" ::"a"(value), "Nd"(port)); }
static u8 inb(u16 port) { u8 value; __asm__ volatile("inb %1,%0" : "=a"(value) : "Nd"(port)); return value; }
static u16 inw(u16 port) { u16 value; __asm__ volatile("inw %1,%0" : "=a"(value) : "Nd"(port)); return value; }
static u32 inl(u16 port) { u32 value; __asm__ volatile("inl %1,%0" : "=a"(value) : "Nd"(port)); return value; }

enum { serial = 0x3f8, slots = 32, page = 4096 };
/* Where QEMU's firmware and its ACPI tables have them. */
enum { power_status = 0x600, power_enable = 0x602, power_control = 0x604, unplug_asked = 0xae04, unplug = 0xae08, processors = 0xaf00 };

static char line[1024], told[1024];
static u32 length;

static void put(const char *text) { while (*text && length < sizeof line - 1) line[length++] = *text++; }
static void number(u32 value, u32 base, int digits) {
  char text[12];
  int at = sizeof text - 1;
  for (text[at] = 0; value || digits > 0; value /= base, digits--) text[--at] = "0123456789abcdef"[value % base];
  put(text + at);
}

static u32 config(u32 slot, u32 at) { outl(0xcf8, 0x80000000u | slot << 11 | (at & 0xfc)); return inl(0xcfc); }
static void configure(u32 slot, u32 at, u32 value) { outl(0xcf8, 0x80000000u | slot << 11 | (at & 0xfc)); outl(0xcfc, value); }

enum { balloon = 0x10021af4, disk = 0x10011af4 };

/* The ports of a device. Nobody has given any to one that came later. */
static u16 ports(u32 slot) {
  if ((config(slot, 0x10) & 0xfffe) == 0) configure(slot, 0x10, 0xd000 + slot * 0x80);
  configure(slot, 4, 7);
  return config(slot, 0x10) & 0xfffe;
}

/* Virtio as it was before version 1: one queue of a disk, used for one request at a time. */
struct descriptor { u64 address; u32 length; u16 flags, next; };
static u8 rings[slots][3 * page] __attribute__((aligned(4096)));
static u16 asked[slots];
static u8 ready[slots];
static u8 sector[512] __attribute__((aligned(512)));
static struct { u32 type, reserved; u64 sector; } request;
static volatile u8 outcome;

static void begin(u32 slot, u16 at) {
  outb(at + 18, 0);
  outb(at + 18, 1);
  outb(at + 18, 3);
  outl(at + 4, 0);
  outw(at + 14, 0);
  for (u32 i = 0; i < sizeof rings[slot]; i++) rings[slot][i] = 0;
  outl(at + 8, (u32)rings[slot] / page);
  outb(at + 18, 7);
  asked[slot] = 0;
  ready[slot] = 1;
}

/* Reads or writes the first sector; whether it could. */
static int transfer(u32 slot, u16 at, int writes) {
  if (!ready[slot]) begin(slot, at);
  u16 size = inw(at + 12);
  struct descriptor *descriptors = (struct descriptor *)rings[slot];
  volatile u16 *available = (u16 *)(descriptors + size);
  u32 used_at = ((u32)(available + 3 + size) + page - 1) & ~(page - 1);
  volatile u16 *used = (u16 *)used_at;
  request.type = writes;
  request.sector = 0;
  outcome = 255;
  descriptors[0] = (struct descriptor){(u32)&request, sizeof request, 1, 1};
  descriptors[1] = (struct descriptor){(u32)sector, sizeof sector, writes ? 1 : 3, 2};
  descriptors[2] = (struct descriptor){(u32)&outcome, 1, 2, 0};
  available[2 + asked[slot]++ % size] = 0;
  __asm__ volatile("" ::: "memory");
  available[1] = asked[slot];
  outw(at + 16, 0);
  for (u32 wait = 0; used[1] != asked[slot]; wait++)
    if (wait > 20000000) {
      /* An answer that comes later must not be taken for that of the next request. */
      ready[slot] = 0;
      return 0;
    }
  return outcome == 0;
}

static u8 received[64];
static u32 receiving;

static void look(u32 memory) {
  u32 given = 0, count = 0, last = slots;
  length = 0;
  put("STATE mem=");
  for (u32 slot = 1; slot < slots; slot++) {
    if (config(slot, 0) != balloon) continue;
    u16 at = ports(slot);
    outb(at + 18, 7);
    given = inl(at + 20);
    if (inl(at + 24) != given) for (int i = 0; i < 4; i++) outb(at + 24 + i, given >> 8 * i);
  }
  number(memory - given / 256, 10, 1);
  put("M cpus=");
  for (u32 i = 0; i < 32; i++) for (u8 bits = inb(processors + i); bits; bits &= bits - 1) count++;
  number(count, 10, 1);
  put(" disks=");
  for (u32 slot = 1, first = 1; slot < slots; slot++) {
    if (config(slot, 0) != disk) { ready[slot] = 0; continue; }
    u16 at = ports(slot);
    if (!first) put(",");
    first = 0;
    if (transfer(slot, at, 0)) for (u32 i = 0; i < 4; i++) number(sector[i], 16, 2);
    put(":");
    number(inl(at + 20) / 2048, 10, 1);
    put("M");
    last = slot;
  }
  put("\n");
  line[length] = 0;
  u32 same = 0;
  while (same < length && line[same] == told[same]) same++;
  if (same < length || told[same]) {
    for (u32 i = 0; i <= length; i++) told[i] = line[i];
    for (u32 i = 0; i < length; i++) { while (!(inb(serial + 5) & 32)); outb(serial, line[i]); }
  }
  while (inb(serial + 5) & 1) {
    u8 sign = inb(serial);
    if (sign != '\n' && sign != '\r') { if (receiving < sizeof received) received[receiving++] = sign; continue; }
    for (u32 i = 0; i < sizeof sector; i++) sector[i] = i < receiving ? received[i] : 0;
    if (receiving > 0 && last < slots) transfer(last, ports(last), 1);
    receiving = 0;
    told[0] = 0;
  }
  u32 doomed = inl(unplug_asked);
  if (doomed) outl(unplug, doomed & -doomed);
}

void start(u32 memory) {
  outw(power_enable, 0x0100);
  for (;;) {
    look(memory);
    if (inw(power_status) & 0x0100) outw(power_control, 0x2000);
    /* The timer ends the halt 18 times a second; meanwhile an emulated machine costs nothing. */
    __asm__ volatile("sti; hlt; cli" ::: "memory");
  }
}
