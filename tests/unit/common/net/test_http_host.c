/* Which values of Host a web page that was rebound cannot have. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "net/http_host.h"

TEST(private_hosts) {
        static const struct {
                const char *host;
                bool is_private;
        } rows[] = {
                {"127.0.0.1:8090", true},
                {"10.244.1.7:8090", true}, /* a kubelet's probe, Prometheus */
                {"127.0.0.1", true},
                {"[::1]:8090", true},
                {"[fd00::7]", true},
                {"localhost:8090", true},
                {"LocalHost", true},
                {"localhost.:8090", true},
                {"app.localhost:8090", true},
                {"plimsoll-controller:8090", true},
                {"plimsoll-controller.kube-system.svc:8090", true},
                {"plimsoll-controller.kube-system.svc.cluster.local.:8090", true},
                {"metrics.corp.internal", true},
                {"", true}, /* a client without a name for us */
                {":8090", true},
                {".", true},
                {"evil.example:8090", false},
                {"evil.example", false},
                {"EVIL.EXAMPLE.", false},
                {"127.0.0.1.evil.example:8090", false},
                {"localhost.evil.example:8090", false},
                {"svc.cluster.local.evil.example", false},
                {"x.notlocal", false},
                {"x.loca", false},
                {"x.1a", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (http_host_is_private(rows[i].host) != rows[i].is_private)
                        fail_msg("%s", rows[i].host);
}
