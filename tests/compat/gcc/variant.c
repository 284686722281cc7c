/* Functions for which the compiler chooses a variant: by the constructs around the call, by the
   device, by a condition. None is static, because GCC 14 then fails to write the image with
   optimisation.
   compare: host */
#include "check.h"

#pragma omp declare target
int in_target(int x)
{
    return x + 1000;
}
int in_teams(int x)
{
    return x + 2000;
}
int in_parallel(int x)
{
    return x + 3000;
}
int in_for(int x)
{
    return x + 4000;
}
#pragma omp declare variant(in_for) match(construct = {target, teams, parallel, for})
#pragma omp declare variant(in_parallel) match(construct = {target, parallel})
#pragma omp declare variant(in_teams) match(construct = {target, teams})
#pragma omp declare variant(in_target) match(construct = {target})
int by_construct(int x)
{
    return x;
}

int on_nvidia(int x)
{
    return x * 2;
}
#pragma omp declare variant(on_nvidia) match(device = {arch(nvptx)})
int by_arch(int x)
{
    return x + x;
}

int on_no_host(void)
{
    return 0;
}
#pragma omp declare variant(on_no_host) match(device = {kind(nohost)})
int is_host(void)
{
    return 1;
}

int on_sm_35(void)
{
    return 35;
}
#pragma omp declare variant(on_sm_35) match(device = {isa(sm_35)})
int isa(void)
{
    return 0;
}

int yes(int x)
{
    return x + 7;
}
int no(int x)
{
    return x - 7;
}
#pragma omp declare variant(no) match(user = {condition(0)})
#pragma omp declare variant(yes) match(user = {condition(1)})
int by_condition(int x)
{
    return x;
}

int of_gnu(int x)
{
    return x * 3;
}
#pragma omp declare variant(of_gnu) match(implementation = {vendor(gnu)})
int by_vendor(int x)
{
    return x * 5;
}

/* The better score wins. */
int low(int x)
{
    return x + 1;
}
int high(int x)
{
    return x + 2;
}
#pragma omp declare variant(low) match(construct = {target}, user = {condition(score(2) : 1)})
#pragma omp declare variant(high) match(construct = {target}, user = {condition(score(100) : 1)})
int by_score(int x)
{
    return x;
}
#pragma omp end declare target

enum { N = 40 };

int main(void)
{
    int initial = -1, host = -1, which = -1, at[8] = {0};
#pragma omp target map(from : initial, host, which) map(tofrom : at)
    {
        initial = omp_is_initial_device();
        host = is_host();
        which = isa();
        at[0] = by_construct(1);
        at[1] = by_arch(21);
        at[2] = by_condition(100);
        at[3] = by_vendor(11);
        at[4] = by_score(50);
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(host, initial != 0);
    EXPECT(which == 35 || which == 0, 1);
    int teams = 0, parallel = 0, loop[N], lanes[N];
#pragma omp target teams num_teams(1) map(from : teams)
    teams = by_construct(2);
#pragma omp target parallel num_threads(3) reduction(+ : parallel) map(tofrom : parallel)
    parallel += by_construct(3);
#pragma omp target teams distribute parallel for map(from : loop)
    for (int i = 0; i < N; i++)
        loop[i] = by_construct(i) + by_condition(i) + by_score(i);
#pragma omp target simd map(from : lanes)
    for (int i = 0; i < N; i++)
        lanes[i] = by_construct(i) + by_vendor(i) + by_arch(i);
    printf("%d %d %d %d %d %d %d\n", at[0], at[1], at[2], at[3], at[4], teams, parallel);
    printf("%d %d %d\n", by_construct(9), by_score(9), is_host());
    EXPECT(at[0], 1001);
    EXPECT(teams, 2002);
    EXPECT(parallel, 3 * 3003);
    for (int i = 0; i < N; i++)
        printf("%d %d ", loop[i], lanes[i]);
    puts("");
    return finish();
}
