/*
 * --check-config for many policies: reads one in JSON a line, and prints for each `ok` or what is
 * wrong with it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "policy/policy.h"

int main(void) {
        char *line = NULL;
        size_t capacity = 0;

        for (ssize_t len; (len = getline(&line, &capacity, stdin)) > 0;) {
                _cleanup_(policy_freep) struct policy *policy = NULL;
                struct error err = ERROR_NULL;

                int r = policy_parse(line, (size_t)len, false, &policy, &err);
                (void)puts(r < 0 ? err.msg : "ok");
        }
        free(line);
        return 0;
}
