/* Resets a running QEMU and tells it which device to boot from, over its control socket (QMP). */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "labbmc.h"

/* The values 8 and 9 in between keep two devices, or one twice, from having the same index, which QEMU refuses. */
static const char order[] =
    "{'execute':'qmp_capabilities'}\n"
    "{'execute':'qom-set','arguments':{'path':'/machine/peripheral/%2$s','property':'bootindex','value':9}}\n"
    "{'execute':'qom-set','arguments':{'path':'/machine/peripheral/%1$s','property':'bootindex','value':8}}\n"
    "{'execute':'qom-set','arguments':{'path':'/machine/peripheral/%1$s','property':'bootindex','value':1}}\n"
    "{'execute':'qom-set','arguments':{'path':'/machine/peripheral/%2$s','property':'bootindex','value':2}}\n"
    "{'execute':'system_reset'}\n";
enum { COMMANDS = 6 };

static int count(const char *text, const char *word)
{
    int n = 0;

    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

static int exchange(int s, const char *commands)
{
    char replies[8192];
    size_t used = 0;

    if (write(s, commands, strlen(commands)) < 0) return -1;
    while (used < sizeof replies - 1) {
        ssize_t n = read(s, replies + used, sizeof replies - 1 - used);
        if (n <= 0) return -1;
        replies[used += n] = 0;
        /* A machine without a disk has no place for it in its order, and is reset all the same. */
        if (count(replies, "\"return\"") + count(replies, "\"error\"") == COMMANDS) return 0;
    }
    return -1;
}

int qmp_reset(const char *path, int network_first)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct timeval patience = { 10, 0 };
    char commands[1024];
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), result = -1;

    if (s < 0) return -1;
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    snprintf(commands, sizeof commands, order, network_first ? "nic0" : "disk0", network_first ? "disk0" : "nic0");
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(s, (struct sockaddr *)&to, sizeof to) == 0) result = exchange(s, commands);
    close(s);
    return result;
}
