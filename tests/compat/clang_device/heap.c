// `malloc` and `free` in regions, by one thread and by all.
#include <stdio.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

int main(void) {
    int sum = 0, total = 0, failed = 0;
    #pragma omp target map(tofrom : sum)
    {
        struct node *list = NULL;
        for (int i = 0; i < 20; i++) {
            struct node *node = malloc(sizeof *node);
            node->value = i * i;
            node->next = list;
            list = node;
        }
        while (list) {
            struct node *next = list->next;
            sum = sum * 2 % 10007 + list->value;
            free(list);
            list = next;
        }
    }
    #pragma omp target teams distribute parallel for reduction(+ : total, failed)
    for (int i = 0; i < 64; i++) {
        int *a = malloc((i + 1) * sizeof *a);
        failed += a == NULL;
        for (int j = 0; a && j <= i; j++)
            a[j] = i - j;
        for (int j = 0; a && j <= i; j++)
            total += a[j];
        free(a);
    }
    printf("%d %d %d\n", sum, total, failed);
    return 0;
}
