/*
 * Counts the lines of a file in an OpenMP target region whose threads request pieces of the
 * file from the host.
 */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "revoff_openmp.h"

enum { PIECE = 1024 };

/* Device code calls this function, which is defined below and runs on the host. */
REVOFF_HOST_FUNCTION(read_piece)

static int file;

/* args: the offset (to), the piece (from), and its length, or -1 (from). */
void read_piece(void **args)
{
    const uint64_t *offset = args[0];
    int64_t *length = args[2];

    *length = pread(file, args[1], PIECE, (off_t)*offset);
}

#pragma omp begin declare target

/* Counts the lines that end in a piece. Sets the piece's length: 0 at the end of the file,
   below 0 for an error. */
static int64_t lines_of(uint64_t offset, uint64_t *lines)
{
    char piece[PIECE];
    int64_t length = -1;
    void *addrs[] = {&offset, piece, &length};
    size_t sizes[] = {sizeof offset, sizeof piece, sizeof length};
    unsigned short kinds[] = {REVOFF_MAP_TO | 3 << 8, REVOFF_MAP_FROM, REVOFF_MAP_FROM | 3 << 8};

    if (revoff_call(REVOFF_CALL(read_piece), 3, addrs, sizes, kinds) != REVOFF_STATUS_DONE)
        return -1;
    for (int64_t i = 0; i < length; i++)
        *lines += piece[i] == '\n';
    return length;
}

#pragma omp end declare target

int main(int argc, char **argv)
{
    uint64_t lines = 0;
    int failed = 0;

    if (argc != 2 || (file = open(argv[1], O_RDONLY)) < 0) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }

    /* GPU code without LLVM's device runtime: the region uses the launch's threads directly. */
#ifdef GPU
#pragma omp target teams ompx_bare num_teams(4) thread_limit(32) map(tofrom : lines, failed)
#else
#pragma omp target parallel map(tofrom : lines, failed)
#endif
    {
        uint64_t threads = (uint64_t)revoff_teams() * revoff_threads();
        uint64_t me = (uint64_t)revoff_team() * revoff_threads() + revoff_thread();
        uint64_t mine = 0;
        int64_t length;

        for (uint64_t piece = me;; piece += threads) {
            length = lines_of(piece * PIECE, &mine);
            if (length <= 0)
                break;
        }
#pragma omp atomic
        lines += mine;
        if (length < 0) {
#pragma omp atomic
            failed += 1;
        }
    }

    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", argv[1]);
        return 1;
    }
    printf("%llu %s\n", (unsigned long long)lines, argv[1]);
    return 0;
}
