/* Stands for nvidia-smi on the box of onbox.py: cards that are in use, printed at once and, with --loop-ms=,
 * again and again, as the real one does (it flushes after each look). Asked for anything else it says nothing.
 * Each call adds a byte to the file CALLED. CARDS: how many cards. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char row[] =
    "%d, GPU-11111111-aaaa-4bbb-8ccc-00000000000%d, 45, 9216, 24564, 62, 310.55, 450.00, 2520, 3105, "
    "0, Not Active, Not Active, Not Active, Not Active, Not Active, NVIDIA L40S\n";

int main(int argc, char **argv)
{
    long every = 0;
    int calls = open(CALLED, O_WRONLY | O_APPEND);
    if (argc > 1 && calls >= 0 && write(calls, "x", 1) != 1)
        return 1;
    close(calls);
    if (argc < 2 || strncmp(argv[1], "--query-gpu=index", 17) != 0)
        return 0;
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "--loop-ms=", 10) == 0)
            every = atol(argv[i] + 10);
    do {
        for (int card = 0; card < CARDS; card++)
            printf(row, card, card);
        fflush(stdout);
        usleep(every * 1000);
    } while (every);
    return 0;
}
