/* An image in C: its kernels call GOMP_target_ext themselves. */

#include "revoff.h"

REVOFF_HOST_FUNCTION(lookup)
REVOFF_HOST_FUNCTION(unknown)

/* In each thread, a host function changes numbers[i] and adds a number of the thread's stack,
   which is returned in results[i]. */
REVOFF_KERNEL(translate, uint64_t *, uint64_t *, uint32_t *)
{
    uint64_t *numbers = REVOFF_PARAM(uint64_t *, 0);
    uint64_t *results = REVOFF_PARAM(uint64_t *, 1);
    uint32_t *statuses = REVOFF_PARAM(uint32_t *, 2);
    uint32_t me = revoff_team() * revoff_threads() + revoff_thread();
    uint64_t own[3] = {me, revoff_teams(), 0};
    void *addrs[] = {&numbers[me], own, (void *)(uintptr_t)me};
    size_t sizes[] = {sizeof numbers[me], sizeof own, sizeof me};
    unsigned short kinds[] = {REVOFF_MAP_TOFROM | 3 << 8, REVOFF_MAP_TOFROM | 3 << 8,
                              REVOFF_MAP_FIRSTPRIVATE_INT | 2 << 8};

    statuses[me] = revoff_call(REVOFF_CALL(lookup), 3, addrs, sizes, kinds);
    results[me] = own[2];
}

/* Invalid calls: another device, a null function, a call without a word for its status, and a
   function that is not registered. */
REVOFF_KERNEL(strays, uint32_t *)
{
    uint32_t *statuses = REVOFF_PARAM(uint32_t *, 0);
    void *args = &statuses[0];

    GOMP_target_ext(0, REVOFF_CALL(lookup), 0, NULL, NULL, NULL, REVOFF_FLAG_STATUS, NULL, args);
    args = &statuses[1];
    GOMP_target_ext(GOMP_DEVICE_HOST_FALLBACK, NULL, 0, NULL, NULL, NULL, REVOFF_FLAG_STATUS, NULL,
                    args);
    args = &statuses[2];
    GOMP_target_ext(-5, REVOFF_CALL(lookup), 0, NULL, NULL, NULL, 0, NULL, args);
    statuses[3] = revoff_call(REVOFF_CALL(unknown), 0, NULL, NULL, NULL);
}
