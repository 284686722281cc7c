/* Nobody reads the standard error: what the libraries write there is lost, and the program goes on.
env: REVOFF_EMU_CALLS=1 */
#include "parts/check.h"
#include <signal.h>
#include <unistd.h>

int main() {
    int ends[2];
    CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    OK(cudaDeviceSynchronize());
    void *graph;
    FAILS(cudaGraphCreate(&graph, 0), cudaErrorNotSupported);
    puts("ok");
}
