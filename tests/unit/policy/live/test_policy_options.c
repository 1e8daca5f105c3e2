/* --check-config of what names a cluster, and cannot. */
#include "tests/unit/fixture/test.h"

#include "policy/live/policy_options.h"

TEST(cluster_is_checked_when_named) {
        static const struct kube_access_options rows[] = {
                {.kubeconfig = "/nonexistent/kubeconfig"},
                {.master = "ftp://127.0.0.1"},
        };

        assert_int_equal(setenv("KUBECONFIG", "/nonexistent/kubeconfig", 1), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct program_options options = {.kube = rows[i]};
                struct error err = ERROR_NULL;
                if (policy_options_check("test", &options, NULL, 0, &err) >= 0 || !err.msg[0])
                        fail_msg("row %zu", i);
        }
}
