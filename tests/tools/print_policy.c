/* Reads a policy, and prints it with all defaults: for policy_reference.py. */
#include <stdio.h>

#include "tests/policy_print.h"

int main(void) {
        _cleanup_(policy_freep) struct policy *policy = NULL;
        struct buf out = BUF_INIT(1 << 16);
        struct error err = ERROR_NULL;
        char text[1 << 16];

        size_t len = fread(text, 1, sizeof(text), stdin);
        if (policy_parse(text, len, true, &policy, &err) < 0) {
                (void)fprintf(stderr, "%s\n", err.msg);
                return 1;
        }
        policy_print(policy, &out);
        (void)fputs(out.data, stdout);
        buf_done(&out);
        return 0;
}
