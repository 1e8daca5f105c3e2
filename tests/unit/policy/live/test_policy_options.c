/* --check-config of what names a cluster, and cannot. */
#include "tests/unit/fixture/cmocka_wrap.h"

#include <stdlib.h>

#include "policy/live/policy_options.h"

static void test_cluster_is_checked_when_named(void **state) {
        static const struct kube_access_options rows[] = {
                {.kubeconfig = "/nonexistent/kubeconfig"},
                {.choice.context = "none"},
                {.master = "ftp://127.0.0.1"},
        };

        (void)state;
        assert_int_equal(setenv("KUBECONFIG", "/nonexistent/kubeconfig", 1), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct program_options options = {.kube = rows[i]};
                struct error err = ERROR_NULL;
                if (policy_options_check("test", &options, NULL, 0, &err) >= 0 || !err.msg[0])
                        fail_msg("row %zu", i);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cluster_is_checked_when_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
