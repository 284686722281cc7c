/* A kernel in the form of compilers from before the runtime had its own argument. */
void old_kernel(int *x)
{
    x[0] += 10;
}
