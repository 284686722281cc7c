// Calls through pointers to functions of the device.
#include <stdio.h>

#pragma omp begin declare target
typedef int (*operation)(int, int);
__attribute__((noinline)) static int add(int a, int b) { return a + b; }
__attribute__((noinline)) static int subtract(int a, int b) { return a - b; }
__attribute__((noinline)) static int multiply(int a, int b) { return a * b; }
static const operation operations[] = {add, subtract, multiply};
__attribute__((noinline)) static int fold(operation f, const int *a, int n) {
    int value = a[0];
    for (int i = 1; i < n; i++)
        value = f(value, a[i]);
    return value;
}
#pragma omp end declare target

int main(void) {
    int a[10] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, results[3], many[60];
    #pragma omp target map(to : a) map(from : results)
    for (int i = 0; i < 3; i++)
        results[i] = fold(operations[i], a, 10);
    #pragma omp target teams distribute parallel for map(to : a) map(from : many)
    for (int i = 0; i < 60; i++) {
        operation f = operations[i % 3];
        many[i] = f(a[i % 10], i) + fold(operations[i % 2], a, i % 10 + 1);
    }
    long sum = 0;
    for (int i = 0; i < 60; i++)
        sum = sum * 3 % 1000003 + many[i];
    printf("%d %d %d %ld\n", results[0], results[1], results[2], sum);
    return 0;
}
