/* SPDX-License-Identifier: MIT
 * Food for a compiler: 25 functions that its passes have something to do with. Includes nothing. */
#define LOOP(n)                                                                                                        \
    int loop_##n(int *values, int count)                                                                               \
    {                                                                                                                  \
        int sum = n;                                                                                                   \
        for (int i = 0; i < count; i++)                                                                                \
            sum += values[i] * (i ^ n) + (sum >> 3);                                                                   \
        return sum;                                                                                                    \
    }
#define CHOICE(n)                                                                                                      \
    double choice_##n(double x, unsigned kind)                                                                         \
    {                                                                                                                  \
        switch (kind % 5) {                                                                                            \
        case 0: return x * n;                                                                                          \
        case 1: return x + n;                                                                                          \
        case 2: return x < n ? x : n;                                                                                  \
        case 3: return choice_##n(x / 2, kind / 5);                                                                    \
        default: return -x;                                                                                            \
        }                                                                                                              \
    }
LOOP(1) LOOP(2) LOOP(3) LOOP(4) LOOP(5) LOOP(6) LOOP(7) LOOP(8) LOOP(9) LOOP(10) LOOP(11) LOOP(12)
CHOICE(1) CHOICE(2) CHOICE(3) CHOICE(4) CHOICE(5) CHOICE(6) CHOICE(7) CHOICE(8) CHOICE(9) CHOICE(10) CHOICE(11)
CHOICE(12)

int main(int argc, char **argv)
{
    int values[8] = {argc, 2, 3, 4, 5, 6, 7, 8};
    return loop_3(values, 8) + (int)choice_4(argc, 7) + (argv[0] != 0);
}
