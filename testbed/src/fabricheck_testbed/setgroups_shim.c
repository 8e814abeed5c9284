/* In a user namespace that maps a single id, the kernel forbids setgroups(2), and slurmctld and
 * slurmstepd give up. There is only one group to be in, so doing nothing is right. */
#include <grp.h>
#include <stddef.h>

int setgroups(size_t count, const gid_t* groups) {
    (void)count;
    (void)groups;
    return 0;
}

int initgroups(const char* user, gid_t group) {
    (void)user;
    (void)group;
    return 0;
}
