/* What the recorded answers and the worked examples of crane's arithmetic are of. Read at the top
 * of the source. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "policy/policy.h"

/* Owned by the caller. */
static inline struct policy *crane_policy(void) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_load_file("policy/crane.yaml", true, &policy, &err) < 0) {
                (void)fprintf(stderr, "%s\n", err.msg);
                abort();
        }
        return policy;
}
