#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/policy_yaml.h"

struct policy *policy_default(void) {
        struct policy *policy = NULL;

        /* It is part of the program: a unit test reads it, strictly. */
        if (policy_parse((const char *)policy_yaml, policy_yaml_bytes, true, &policy, NULL) < 0)
                abort();
        return policy;
}

void policy_free(struct policy *policy) {
        if (!policy)
                return;
        for (size_t i = 0; i < POLICY_MAX_WARNINGS; i++)
                free(policy->warnings[i]);
        free(policy);
}

int policy_metric_index(const struct policy *policy, const char *name) {
        for (size_t i = 0; i < policy->metric_count; i++)
                if (strcmp(policy->metrics[i].name, name) == 0)
                        return (int)i;
        return -1;
}

bool policy_is_relative(const struct policy *policy) {
        for (size_t i = 0; i < policy->priority_count; i++)
                if (policy->priorities[i].scale == POLICY_SCALE_RELATIVE)
                        return true;
        return false;
}
