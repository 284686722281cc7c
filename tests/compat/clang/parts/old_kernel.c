/* A kernel as compilers made them before the runtime had an argument of its own. */
void old_kernel(int *x)
{
    x[0] += 10;
}
