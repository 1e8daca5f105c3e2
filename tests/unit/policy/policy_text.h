/* Policies as text: read, and printed so that they read back as they were. */
#pragma once

#include "tests/unit/fixture/test.h"

#include "base/buf.h"
#include "policy/policy.h"
#include "tests/policy_equal.h"
#include "tests/policy_print.h"

#define HEAD                                                                                       \
        "apiVersion: scheduler.policy.crane.io/v1alpha1\n"                                         \
        "kind: DynamicSchedulerPolicy\n"

static inline struct policy *parse(const char *text, bool is_strict) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_parse(text, strlen(text), is_strict, &policy, &err) < 0)
                fail_msg("%s\n%s", err.msg, text);
        return policy;
}

static inline void assert_round_trip(const struct policy *policy) {
        struct buf first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);

        policy_print(policy, &first);
        _cleanup_(policy_freep) struct policy *again = parse(first.data, true);
        if (!policy_equal(policy, again))
                fail_msg("reads back differently:\n%s", first.data);
        policy_print(again, &second);
        assert_string_equal(first.data, second.data);
        buf_done(&first);
        buf_done(&second);
}
