/* A library with a host task, linked with its OpenMP runtime. */
int tasks_alone(int x)
{
    int y = -1;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task shared(y) depend(out : y)
        y = x + 1;
#pragma omp task shared(y) depend(inout : y)
        y *= 2;
#pragma omp taskwait
    }
    return y;
}
